import { type ImportRow, type Plan } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Tx } from '@recur/platform';
import type { SavedMethod } from '../../gateways/adapters/adapter.js';
import type { UserAtGateway } from '../../gateways/chargeable.js';
import type { Gateway } from '../../gateways/domain/gateway.js';
import { keepMethods } from '../../gateways/payment-methods.js';
import { notBilled } from '../domain/periods.js';
import type { Subscription } from '../domain/subscription.js';
import { scheduleNext } from '../schedule.js';
import { subscriptionPeriods, subscriptions } from '../tables.js';
import { subscriptionAggregate } from '../views.js';

export type ActiveRow = ImportRow<'ActiveSubscriptionImport'>;
export type HistoryRow = ImportRow<'HistorySubscriptionImport'>;

/** The things that a row names, as far as they are there, and when it is taken. */
export interface KnownImport {
  merchantId: number;
  now: number;
  /** Zones in which the boundaries of its periods are looked for, the likeliest first. */
  zones: readonly string[];
  plan: Plan | undefined;
  userId: number | undefined;
  gateway: Gateway | undefined;
  /** Plans of its add-ons, by their own ids and by the merchant's. */
  addonPlan(named: { planId: number } | { externalPlanId: string }): Plan | undefined;
}

/** A fault of a column; '' for one of the row. */
export interface Fault {
  column: string;
  message: string;
}

/** The faults of a row. */
export class Faults {
  readonly found: Fault[] = [];

  add(column: string, message: string): void {
    this.found.push({ column, message });
  }

  /** The result of `make`; undefined where it throws Rejected, whose words are then faults of the column. */
  of<T>(column: string, make: () => T): T | undefined {
    try {
      return make();
    } catch (error) {
      if (!(error instanceof Rejected)) throw error;
      this.add(column, [...error.issues.map(({ message }) => message), error.message].find(text => text !== '') ?? '');
      return undefined;
    }
  }
}

/** A row that can be taken. */
export interface Ready {
  row: number;
  fields: ActiveRow;
  sub: Subscription;
}

/** Saves the subscriptions, each with the period that was paid elsewhere and the payment method that it is charged with. */
export async function takeRows(tx: Tx, ready: readonly Ready[]): Promise<void> {
  tx.onConflict('subscriptions_one_live', () => new Rejected('subscription_exists'));
  tx.onConflict('subscriptions_external', () => new Rejected('subscription_exists'));
  const methodOf = await namedMethods(tx, ready);
  for (const row of ready) {
    const sub = { ...row.sub, id: await tx.nextId(subscriptions), paymentMethodId: methodOf(row) };
    const { merchantId, subscriptionId, userId, currentPeriodStart: startAt, currentPeriodEnd: endAt } = sub;
    tx.step(subscriptionAggregate, sub, 'subscription.imported');
    const kind = sub.trialEnd > 0 ? 'free' : 'elsewhere';
    const period = { merchantId, subscriptionId, seq: 1, userId, kind, startAt, endAt, invoiceId: '' } as const;
    tx.save(subscriptionPeriods, { ...period, ...notBilled, state: 'paid', createTime: tx.now });
    scheduleNext(tx, sub, undefined);
  }
}

interface AskedMethods {
  at: UserAtGateway;
  gatewayUserId: string;
  methods: SavedMethod[];
}

/** Keeps the payment methods of rows, user by user. Returns a function that finds the id of a row's, '' for none. */
async function namedMethods(tx: Tx, ready: readonly Ready[]): Promise<(of: Ready) => string> {
  const asked = new Map<string, AskedMethods>();
  for (const { sub, fields } of ready) {
    const { GatewayUserId: gatewayUserId, GatewayPaymentMethod: gatewayMethodId } = fields;
    if (gatewayUserId === undefined || gatewayMethodId === undefined) continue;
    const { gatewayId, userId } = sub;
    const of = asked.get(payerOf(sub)) ?? { at: { gatewayId, userId }, gatewayUserId, methods: [] };
    of.methods.push({ gatewayMethodId, type: 'card', data: {} });
    asked.set(payerOf(sub), of);
  }
  const kept = new Map<string, ReadonlyMap<string, string>>();
  for (const [payer, { at, ...saved }] of asked) kept.set(payer, await keepMethods(tx, at, saved));
  return ({ sub, fields }) => kept.get(payerOf(sub))?.get(fields.GatewayPaymentMethod ?? '') ?? '';
}

/** A user at a gateway, who is one there. */
export const payerOf = ({ gatewayId, userId }: UserAtGateway) => `${gatewayId} ${userId}`;
