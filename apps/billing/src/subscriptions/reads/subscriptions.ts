import { Controller } from '@nestjs/common';
import * as contract from '@recur/contracts';
import {
  type ExportRow,
  type In,
  listSubscriptions,
  majorUnits,
  subscriptionDetail,
  subscriptionStatus,
  userSubscriptionDetail,
} from '@recur/contracts';
import { DAY_SECONDS, Rejected } from '@recur/kernel';
import {
  type Caller,
  type Condition,
  Db,
  each,
  given,
  Handle,
  type Reader,
  type SliceAt,
  type Sliced,
  sorted,
} from '@recur/platform';
import { shownAddons, shownPlan } from '../../customers/catalog.js';
import { buyerColumns, findUser, usersByEmail, usersById, usersOfRows } from '../../customers/users.js';
import * as discounts from '../../discounts/redemption.js';
import { gatewaysById } from '../../gateways/gateway-index.js';
import { gatewayView } from '../../gateways/views.js';
import { invoicesById } from '../../invoices/lists/details.js';
import { Arrears } from '../arrears.js';
import { unfinishedUpdates } from '../change/views.js';
import type { Subscription, SubscriptionStatus } from '../domain/subscription.js';
import { newestOf } from '../find.js';
import { subscriptions } from '../tables.js';
import { addonParamsOf, subscriptionView } from '../views.js';
import { whyNoneFollows } from './next-invoice.js';

type Input = In<typeof listSubscriptions>;

/** subscription/detail, user_subscription_detail and list. */
@Controller()
export class SubscriptionReads {
  constructor(
    private readonly db: Db,
    private readonly arrears: Arrears,
  ) {}

  @Handle(subscriptionDetail)
  detail({ subscriptionId }: In<typeof subscriptionDetail>, caller: Caller) {
    return this.db.read(caller, async reader =>
      this.shown(reader, await reader.get(subscriptions, { subscriptionId }, 'subscription_not_found')),
    );
  }

  @Handle(userSubscriptionDetail)
  ofUser({ userId, externalUserId, productId }: In<typeof userSubscriptionDetail>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const user = await findUser(reader, userId === 0 ? { externalUserId } : { userId });
      if (!user) throw new Rejected('user_not_found');
      const sub = await newestOf(reader, { userId: user.id, productId });
      if (sub) return this.shown(reader, sub);
      return {
        addonParams: [],
        addons: [],
        gateway: null,
        latestInvoice: null,
        plan: null,
        subscription: null,
        unfinishedSubscriptionPendingUpdate: null,
        user: user.data,
        hasNextInvoice: false,
        noNextInvoiceReason: 'The user has no subscription to this product',
      };
    });
  }

  private async shown(reader: Reader, sub: Subscription) {
    const [detail, noNextInvoiceReason] = await Promise.all([
      detailOf(reader, sub),
      whyNoneFollows(reader, this.arrears, sub),
    ]);
    return { ...detail, hasNextInvoice: noNextInvoiceReason === '', noNextInvoiceReason };
  }

  @Handle(listSubscriptions)
  list(input: Input, caller: Caller) {
    return this.db.read(caller, async reader => {
      const { page, count } = input;
      const { rows, total } = await reader.page({
        from: subscriptions,
        where: await subscriptionsWhere(reader, input),
        order: sorted({ createTime: 'create_time', modifyTime: 'modify_time' }, input),
        page,
        count,
      });
      return { subscriptions: await subscriptionDetails(reader, rows), total };
    });
  }
}

/** The conditions of subscription/list. */
async function subscriptionsWhere(reader: Reader, input: Input): Promise<Condition[]> {
  const { Email, externalUserId, searchKey } = input;
  const [byEmail, byExternalId] = await Promise.all([
    Email ? usersByEmail(reader, Email) : undefined,
    externalUserId ? findUser(reader, { externalUserId }) : undefined,
  ]);
  const search = given(searchKey);
  const status = given(input.status)?.flatMap(statusOf);
  return [
    ['user_id = ?', given(input.userId)],
    each('user_id', byEmail),
    ['user_id = ?', externalUserId ? (byExternalId?.id ?? 0) : undefined],
    each('status', status),
    ['currency = ?', given(input.currency)],
    ['amount >= ?', given(input.amountStart)],
    ['amount <= ?', given(input.amountEnd)],
    each('plan_id', given(input.planIds)),
    each('product_id', given(input.productIds)),
    ['create_time >= ?', given(input.createTimeStart)],
    ['create_time <= ?', given(input.createTimeEnd)],
    search?.startsWith('sub_') ? ['subscription_id = ?', search] : each('user_id', await searched(reader, search)),
  ];
}

const statusOf = (code: number): SubscriptionStatus[] =>
  (Object.keys(subscriptionStatus) as SubscriptionStatus[]).filter(name => subscriptionStatus[name] === code);

/** Ids of the users that a search key names: by id, own id or e-mail. */
async function searched(reader: Reader, key: string | undefined): Promise<number[] | undefined> {
  if (key === undefined) return undefined;
  const id = /^\d{1,15}$/.test(key) ? [Number(key)] : [];
  const [byEmail, byExternalId] = await Promise.all([
    usersByEmail(reader, key),
    findUser(reader, { externalUserId: key }),
  ]);
  return [...id, ...byEmail, ...(byExternalId ? [byExternalId.id] : [])];
}

/** Subscriptions with what belongs to them, each related row read once for a whole page. */
async function subscriptionDetails(
  reader: Reader,
  rows: readonly Subscription[],
): Promise<contract.SubscriptionDetail[]> {
  const [gateways, users, invoices, updates, codes] = await Promise.all([
    gatewaysById(reader),
    usersById(
      reader,
      rows.map(({ userId }) => userId),
    ),
    invoicesById(
      reader,
      rows.map(({ latestInvoiceId }) => latestInvoiceId),
    ),
    unfinishedUpdates(
      reader,
      rows.map(({ pendingUpdateId }) => pendingUpdateId),
    ),
    discountCodes(reader, rows),
  ]);
  return rows.map(sub => {
    const gateway = gateways.get(sub.gatewayId);
    return {
      addonParams: addonParamsOf(sub),
      addons: shownAddons(sub.planSnapshot.addons),
      dayLeft: Math.max(0, Math.ceil((sub.currentPeriodEnd - reader.now) / DAY_SECONDS)),
      discount: codes.get(sub.discount?.code ?? '') ?? null,
      gateway: gateway ? gatewayView(gateway) : null,
      latestInvoice: invoices.get(sub.latestInvoiceId) ?? null,
      note: '',
      plan: shownPlan(sub.planSnapshot.plan),
      previousStatus: contract.subscriptionStatus[sub.previousStatus],
      source: '',
      subscription: subscriptionView(sub),
      unfinishedSubscriptionPendingUpdate: updates.get(sub.pendingUpdateId) ?? null,
      user: users.get(sub.userId) ?? null,
    };
  });
}

/** The same as subscription/detail shows it, without what only lists show. */
async function detailOf(reader: Reader, sub: Subscription) {
  const [detail] = await subscriptionDetails(reader, [sub]);
  if (!detail) throw new Error(`subscription ${sub.subscriptionId} has no detail`);
  const { addonParams, addons, gateway, latestInvoice, plan, subscription, user } = detail;
  const { unfinishedSubscriptionPendingUpdate } = detail;
  return {
    addonParams,
    addons,
    gateway,
    latestInvoice,
    plan,
    subscription,
    user,
    unfinishedSubscriptionPendingUpdate,
  };
}

async function discountCodes(
  reader: Reader,
  rows: readonly Subscription[],
): Promise<ReadonlyMap<string, contract.Discount | null>> {
  const codes = [...new Set(rows.map(({ discount }) => discount?.code ?? ''))].filter(code => code !== '');
  const found = await Promise.all(codes.map(code => discounts.shownDiscount(reader, code)));
  return new Map(codes.map((code, at) => [code, found[at] ?? null]));
}

/** Properties that the columns are made of. */
const read = [
  ...(['id', 'subscriptionId', 'userId', 'status', 'planId', 'productId', 'quantity', 'currency'] as const),
  ...(['amount', 'planSnapshot', 'discount', 'gatewayId', 'cancelAtPeriodEnd', 'cancelReason', 'cancelTime'] as const),
  ...(['currentPeriodStart', 'currentPeriodEnd', 'trialEnd', 'firstPaidTime', 'createTime'] as const),
];
type Row = Pick<Subscription, (typeof read)[number]>;

/** The next subscriptions of subscription/list, newest first, as rows of an export. */
export function exportedSubscriptions(
  db: Db,
  caller: Caller,
  input: In<typeof listSubscriptions>,
  at: SliceAt,
): Promise<Sliced<ExportRow<'SubscriptionExport'>>> {
  return db.read(caller, async reader => {
    const where = await subscriptionsWhere(reader, input);
    const slice = { from: subscriptions, where, by: ['createTime', 'id'], only: read, ...at } as const;
    const { rows, next } = await reader.slice(slice);
    const [users, gateways] = await Promise.all([usersOfRows(reader, rows), gatewaysById(reader)]);
    const shown = rows.map(row => ({
      ...exportColumns(row),
      Gateway: gateways.get(row.gatewayId)?.gatewayName ?? '',
      ...buyerColumns(row.userId, users.get(row.userId)),
    }));
    return { rows: shown, next };
  });
}

function exportColumns(row: Row) {
  const { plan, addons } = row.planSnapshot;
  const named = addons.map(({ addonPlan, quantity }) => `${quantity} × ${addonPlan?.planName ?? ''}`);
  return {
    SubscriptionId: row.subscriptionId,
    Status: row.status,
    PlanId: row.planId,
    PlanName: plan?.planName ?? '',
    ProductId: row.productId,
    Quantity: row.quantity,
    Currency: row.currency,
    Amount: majorUnits(row.amount, row.currency),
    Interval: plan ? `${plan.intervalCount} ${plan.intervalUnit}` : '',
    AddOns: named.join('; '),
    DiscountCode: row.discount?.code ?? '',
    CancelAtPeriodEnd: row.cancelAtPeriodEnd ? 'yes' : 'no',
    CancelReason: row.cancelReason,
    CurrentPeriodStart: row.currentPeriodStart,
    CurrentPeriodEnd: row.currentPeriodEnd,
    TrialEnd: row.trialEnd,
    FirstPaidTime: row.firstPaidTime,
    CreateTime: row.createTime,
    CancelTime: row.cancelTime,
  };
}
