import { type ExportRow, type In, type listSubscriptions, majorUnits } from '@recur/contracts';
import type { Caller, Db, SliceAt, Sliced } from '@recur/platform';
import { buyerColumns, usersOfRows } from '../../customers/exported.js';
import { gatewaysById } from '../../gateways/lookup.js';
import type { Subscription } from '../domain/subscription.js';
import { subscriptions } from '../tables.js';
import { subscriptionsWhere } from './subscriptions.js';

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
      ...columnsOf(row),
      Gateway: gateways.get(row.gatewayId)?.gatewayName ?? '',
      ...buyerColumns(row.userId, users.get(row.userId)),
    }));
    return { rows: shown, next };
  });
}

function columnsOf(row: Row) {
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
