import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { type ImportRow, type ImportTask, majorUnits, type Plan, type RowIssue } from '@recur/contracts';
import { newId } from '@recur/kernel';
import { type Caller, CLOCK, type Clock, Db, type Reader, type Tx } from '@recur/platform';
import { knownPlans, plansByExternalIds } from '../../customers/catalog.js';
import { sellerCountry } from '../../customers/merchants.js';
import { emailKey, usersByNames } from '../../customers/users.js';
import * as discounts from '../../discounts/redemption.js';
import { gatewayUsersOf } from '../../gateways/chargeable.js';
import type { Gateway } from '../../gateways/domain/gateway.js';
import { gatewaysById } from '../../gateways/gateway-index.js';
import { calculateInvoice } from '../../invoices/issuing/calculate.js';
import { Arrears } from '../arrears.js';
import { upcomingInvoice } from '../change/upcoming-invoice.js';
import { endsWithPeriod } from '../domain/renewal.js';
import { hasEnded, isLive, planOf, type Subscription } from '../domain/subscription.js';
import { nextInvoiceMoment } from '../schedule.js';
import { subscriptionSettingsOf } from '../settings.js';
import { subscriptions } from '../tables.js';
import { activeFrom, historyFrom } from './imported.js';
import { type ActiveRow, Faults, type HistoryRow, type KnownImport, payerOf, type Ready, takeRows } from './rows.js';

export type SubscriptionTask = Exclude<ImportTask, 'UserImport'>;

interface Asked {
  row: number;
  fields: ImportRow<SubscriptionTask>;
}

/** The outcome of a row, as its result shows it; amounts in major units, times unix seconds. */
export interface ImportedRow {
  subscriptionId: string;
  /** Undefined where none follows. */
  next: { time: number; total: string; discount: string; tax: string; currency: string } | undefined;
}

/** Rows as they were judged, and the transaction part that takes them. */
export interface Prepared {
  issues: RowIssue[];
  results: ReadonlyMap<number, ImportedRow>;
  commit(tx: Tx): Promise<void>;
}

/** Rows whose next invoices are calculated at once; users and plans that are asked for at once. */
const limits = { calculated: 50, fetched: 50 } as const;

/** Takes subscriptions that run, or ran, in another system. */
@Injectable()
export class SubscriptionImports {
  constructor(
    private readonly db: Db,
    private readonly arrears: Arrears,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Judges rows; nothing is written before `commit`. */
  async prepared(kind: SubscriptionTask, asked: readonly Asked[], caller: Caller): Promise<Prepared> {
    await this.fetchMissing(asked, caller);
    return this.db.read(caller, async reader => {
      const known = await knownOf(reader, asked);
      const issues: RowIssue[] = [];
      const ready: Ready[] = [];
      for (const { row, fields } of asked) {
        const faults = new Faults();
        const sub = await importIssues(reader, kind, { row, fields }, known, faults);
        issues.push(...faults.found.map(fault => ({ row, ...fault })));
        const subscriptionId = newId('sub_', this.clock.wall(), randomBytes(10));
        if (sub) ready.push({ row, fields, sub: { ...sub, subscriptionId } });
      }
      const next = await this.nextInvoices(reader, ready, issues);
      const results = new Map(
        ready.map(({ row, sub }) => [row, { subscriptionId: sub.subscriptionId, next: next.get(sub) }]),
      );
      return { issues, results, commit: tx => takeRows(tx, ready) };
    });
  }

  /** Asks for users and plans that rows name and that are not known here: copies may lag. Stops where none of many is there. */
  private async fetchMissing(asked: readonly Asked[], caller: Caller): Promise<void> {
    const missing = () => this.db.read(caller, async reader => missingOf(asked, await knownOf(reader, asked)));
    for (let names = await missing(), before = Number.POSITIVE_INFINITY; names.length < before; ) {
      before = names.length;
      const some = names.slice(0, limits.fetched);
      await Promise.all(some.map(({ copy, name }) => this.db.refresh(copy, name, caller)));
      names = await missing();
    }
  }

  /** The next invoice of each, and a fault where its total is not the one that the row expects. */
  private async nextInvoices(reader: Reader, ready: readonly Ready[], issues: RowIssue[]) {
    const next = new Map<Subscription, ImportedRow['next']>();
    for (let at = 0; at < ready.length; at += limits.calculated) {
      await Promise.all(
        ready.slice(at, at + limits.calculated).map(async ({ row, fields, sub }) => {
          const invoice = hasEnded(sub.status) || endsWithPeriod(sub) ? undefined : await this.nextOf(reader, sub);
          next.set(sub, invoice);
          const { ExpectedTotalAmount: expected } = fields;
          if (expected === undefined || (invoice && Number(expected) === Number(invoice.total))) return;
          const message = `is ${expected}: ${invoice ? `the next invoice is of ${invoice.total} ${invoice.currency}` : 'no invoice follows'}`;
          issues.push({ row, column: 'ExpectedTotalAmount', message });
        }),
      );
    }
    return next;
  }

  private async nextOf(reader: Reader, sub: Subscription): Promise<ImportedRow['next']> {
    const moment = nextInvoiceMoment(reader, sub);
    const [{ input }, gateways, sellerCountryCode] = await Promise.all([
      upcomingInvoice(reader, sub, { arrears: this.arrears, moment }),
      gatewaysById(reader),
      sellerCountry(reader),
    ]);
    const calculated = await calculateInvoice(reader, input, {
      gateway: gateways.get(sub.gatewayId),
      sellerCountryCode,
    });
    const { totalAmount, discountAmount, taxAmount } = calculated.composition.amounts;
    const { currency } = sub;
    const shown = (amount: bigint) => String(majorUnits(amount, currency));
    const [total, discount, tax] = [shown(totalAmount), shown(discountAmount), shown(taxAmount)];
    return { time: moment, total, discount, tax, currency };
  }
}

/** Everything that rows name, read at once. */
async function knownOf(reader: Reader, asked: readonly Asked[]) {
  const rows: ActiveRow[] = asked.map(({ fields }) => fields);
  const texts = (column: 'Email' | 'ExternalUserId' | 'ExternalPlanId' | 'ExternalSubscriptionId') =>
    rows.flatMap(row => row[column] ?? []);
  const addons = rows.flatMap(addonsNamed);
  const named = (key: string) => addons.flatMap(addon => addon[key] ?? []);
  const planIds = [...rows.flatMap(({ PlanId }) => PlanId ?? []), ...named('planId').map(Number)].filter(
    Number.isSafeInteger,
  );
  const [settings, gateways, users, byExternalId, byId, held] = await Promise.all([
    subscriptionSettingsOf(reader),
    gatewaysById(reader),
    usersByNames(reader, { emails: texts('Email'), externalUserIds: texts('ExternalUserId') }),
    plansByExternalIds(reader, [...texts('ExternalPlanId'), ...named('externalPlanId').map(String)]),
    knownPlans(reader, planIds),
    reader.among(subscriptions, 'externalSubscriptionId', texts('ExternalSubscriptionId')),
  ]);
  const userIds = [...users.byEmail.values(), ...users.byExternalId.values()];
  const [theirs, gatewayUsers] = await Promise.all([
    reader.among(subscriptions, 'userId', [...new Set(userIds)]),
    gatewayUsersOf(reader, [...new Set(userIds)]),
  ]);
  return {
    settings,
    users,
    byExternalId,
    byId,
    gateways: [...gateways.values()].filter(({ archived }) => !archived),
    held: new Map(held.map(sub => [sub.externalSubscriptionId, `${sub.subscriptionId} already`])),
    /** The gateways' own ids of users; those of the file are added as rows are judged. */
    gatewayUsers,
    /** Recurring codes by plan, currency and code, as they are met: most rows share a few. */
    codes: new Map<string, Awaited<ReturnType<typeof discounts.bindable>>>(),
    /** Live subscriptions by user and product; rows of the file are added as they are judged. */
    live: new Map(theirs.filter(({ status }) => isLive(status)).map(sub => [productKey(sub), sub.subscriptionId])),
  };
}

/** The add-ons of a row, as far as they are objects: their shape is judged later. */
const addonsNamed = ({ AddOns }: ActiveRow): Record<string, unknown>[] =>
  Array.isArray(AddOns) ? AddOns.filter(addon => typeof addon === 'object' && addon !== null) : [];

/** Users and plans that rows name and that are not known here, each once. */
function missingOf(asked: readonly Asked[], { users, byExternalId, byId }: KnownRows) {
  const plan = (id: unknown) => {
    if (Number.isSafeInteger(id) && !byId.has(id as number))
      names.set(`plan ${id}`, { copy: 'plans', name: id as number });
  };
  const planCalled = (externalPlanId: unknown) => {
    if (typeof externalPlanId === 'string' && !byExternalId.has(externalPlanId))
      names.set(`plan "${externalPlanId}"`, { copy: 'plans', name: { externalPlanId } });
  };
  const names = new Map<string, { copy: 'users' | 'plans'; name: number | Readonly<Record<string, string>> }>();
  for (const { fields } of asked) {
    const { ExternalUserId: externalUserId, Email: email, ExternalPlanId, PlanId }: ActiveRow = fields;
    if (externalUserId !== undefined && !users.byExternalId.has(externalUserId)) {
      names.set(`id ${externalUserId}`, { copy: 'users', name: { externalUserId } });
    } else if (externalUserId === undefined && email !== undefined && !users.byEmail.has(emailKey(email))) {
      names.set(`email ${email}`, { copy: 'users', name: { email } });
    }
    if (ExternalPlanId !== undefined) planCalled(ExternalPlanId);
    else plan(PlanId);
    for (const addon of addonsNamed(fields)) {
      plan(addon.planId);
      planCalled(addon.externalPlanId);
    }
  }
  return [...names.values()];
}

type KnownRows = Awaited<ReturnType<typeof knownOf>>;

const productKey = ({ userId, productId }: Pick<Subscription, 'userId' | 'productId'>) => `${userId} ${productId}`;

async function importIssues(
  reader: Reader,
  kind: SubscriptionTask,
  { row, fields }: { row: number; fields: ActiveRow & HistoryRow },
  known: KnownRows,
  faults: Faults,
): Promise<Subscription | undefined> {
  const found = foundBy(reader, fields, known);
  const isActive = kind === 'ActiveSubscriptionImport';
  const sub = isActive ? activeFrom(fields, found, faults) : historyFrom(fields, found, faults);
  const { ExternalSubscriptionId: externalId = '', DiscountCode } = fields;
  const held = known.held.get(externalId);
  if (held !== undefined) faults.add('ExternalSubscriptionId', `is ${held}`);
  else known.held.set(externalId, `that of row ${row} too`);
  if (!sub || held !== undefined) return undefined;
  const place = productKey(sub);
  const other = isActive ? known.live.get(place) : undefined;
  if (other !== undefined) faults.add('', `The user has a live subscription to the product: ${other}`);
  if (isActive) known.live.set(place, `${externalId || 'that'} of row ${row}`);
  assertSameUser(known, sub, fields, faults);
  if (!isActive || DiscountCode === undefined) return faults.found.length === 0 ? sub : undefined;
  const named = `${sub.planId} ${sub.currency} ${DiscountCode}`;
  const bound = await (known.codes.get(named) ?? discounts.bindable(reader, DiscountCode, planOf(sub)));
  known.codes.set(named, bound);
  if (!bound) faults.add('DiscountCode', 'names no recurring code for this plan that was ever active');
  if (faults.found.length > 0 || !bound) return undefined;
  return { ...sub, discount: { ...bound, recurring: true, waitingUseId: 0 } };
}

/** A user is one at a gateway: a method of another one there cannot be charged. */
function assertSameUser(
  { gatewayUsers }: KnownRows,
  { gatewayId, userId }: Subscription,
  { GatewayUserId }: ActiveRow,
  faults: Faults,
): void {
  if (GatewayUserId === undefined) return;
  const payer = payerOf({ gatewayId, userId });
  const known = gatewayUsers.get(payer);
  if (known === undefined) gatewayUsers.set(payer, GatewayUserId);
  else if (known !== GatewayUserId) faults.add('GatewayUserId', `is not ${known}, as which the gateway knows the user`);
}

function foundBy(reader: Reader, fields: ActiveRow & HistoryRow, known: KnownRows): KnownImport {
  const { settings, users, byExternalId, byId, gateways } = known;
  const { ExternalUserId, Email = '', ExternalPlanId, PlanId = 0, Gateway } = fields;
  const planOfNames = (externalPlanId: string | undefined, planId: number): Plan | undefined =>
    externalPlanId === undefined ? byId.get(planId) : byExternalId.get(externalPlanId);
  return {
    merchantId: reader.merchantId,
    now: reader.now,
    zones: [...new Set([settings.timeZone, 'UTC'])],
    plan: planOfNames(ExternalPlanId, PlanId),
    userId: ExternalUserId === undefined ? users.byEmail.get(emailKey(Email)) : users.byExternalId.get(ExternalUserId),
    gateway: gateways.find(({ gatewayName }: Gateway) => gatewayName === Gateway?.toLowerCase()),
    addonPlan: named => ('planId' in named ? byId.get(named.planId) : byExternalId.get(named.externalPlanId)),
  };
}
