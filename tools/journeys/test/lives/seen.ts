import { orThrow } from '@recur/client';
import { subscriptionStatus } from '@recur/contracts';
import type { Life } from '../../model/life.js';
import type { Delivery } from '../../receiver.js';
import type { Seller } from '../examples/seller.js';
import type { Subscriber } from './subscriber.js';
import { documentText, expectedText, noteText, shown, voidText } from './texts.js';

/*
 * A subscription as text, from the model and over HTTP: what one says and the other does not is an error of one of them.
 */

const statusNames = new Map<number, string>(Object.entries(subscriptionStatus).map(([name, status]) => [status, name]));
/** Events of a subscription that the model has: all but mere updates. */
export const subscriptionEvents = [
  'created',
  'activated',
  'auto_renew.success',
  'auto_renew.failure',
  'cancelled',
  'end.of.this.cycle',
  'resume.end.of.this.cycle',
  'track',
  'track.willcancel',
  'track.user.outofsubscribe',
  'expired',
  'failed',
] as const;

/** The events of each subscription in the order of its versions, as webhooks told them. */
export function eventsBySubscription(deliveries: readonly Delivery[]): Map<string, string[]> {
  const told = deliveries.map(
    ({ body }) => JSON.parse(body) as { type: string; sequence: number; data: { subscriptionId: string } },
  );
  const all = new Map<string, Map<number, string>>();
  for (const { type, sequence, data } of told) {
    const own = all.get(data.subscriptionId) ?? new Map<number, string>();
    all.set(data.subscriptionId, own.set(sequence, type.slice('subscription.'.length)));
  }
  const inOrder = (own: ReadonlyMap<number, string>) => [...own].toSorted(([a], [b]) => a - b).map(([, name]) => name);
  return new Map([...all].map(([subscriptionId, own]) => [subscriptionId, inOrder(own)]));
}

/** Documents in any order, each with its lines in theirs. */
const together = (documents: readonly string[][]): string[] => documents.map(lines => lines.join('\n    ')).toSorted();

export function expectedOf({ life }: Subscriber): string[] {
  const { expected, notes } = life.sales;
  const voids = expected.filter(({ state, total }) => state === 'cancelled' && total > 0n);
  const documents = [
    ...expected.map(expectedText),
    ...notes.map(noteText),
    ...voids.map(({ total }) => voidText(total)),
  ];
  return [...standing(life), ...together(documents)];
}

function standing(life: Life): string[] {
  const { status, start, end, trialEnd, wish, endsWithPeriod, sales } = life;
  return [
    status,
    `plan ${wish.plan} × ${wish.quantity} with ${wish.addons}`,
    `${shown(start)} to ${shown(end)}, trial to ${trialEnd === 0 ? 'none' : shown(trialEnd)}`,
    `ends with its period: ${endsWithPeriod}`,
    `credit ${sales.main}, promo ${sales.promo}`,
  ];
}

export async function seenOf(seller: Seller, subscriber: Subscriber): Promise<string[]> {
  const { subscriptionId, userId, sold } = subscriber;
  const { api } = seller;
  const [detail, documents, { creditAccounts }] = await Promise.all([
    api.get('/merchant/subscription/detail', { subscriptionId }).then(orThrow),
    subscriber.documents(),
    api.get('/merchant/credit/credit_account_list', { userId }).then(orThrow),
  ]);
  const { subscription, addonParams } = detail;
  const { status, planId, quantity, currentPeriodStart, currentPeriodEnd, trialEnd, cancelAtPeriodEnd } = subscription;
  const many = sold.addons.map(id => addonParams.find(({ addonPlanId }) => addonPlanId === id)?.quantity ?? 0);
  const balance = (type: number) => creditAccounts.find(account => account.type === type)?.amount ?? 0;
  return [
    statusNames.get(status) ?? `${status}`,
    `plan ${sold.plans.indexOf(planId)} × ${quantity} with ${many}`,
    `${shown(currentPeriodStart)} to ${shown(currentPeriodEnd)}, trial to ${trialEnd === 0 ? 'none' : shown(trialEnd)}`,
    `ends with its period: ${cancelAtPeriodEnd === 1}`,
    `credit ${balance(1)}, promo ${balance(2)}`,
    ...together(documents.map(each => documentText(each, sold))),
  ];
}
