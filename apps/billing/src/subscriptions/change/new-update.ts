import { type In, type submitChange } from '@recur/contracts';
import { invalid } from '@recur/kernel';
import type { Caller, Tx } from '@recur/platform';
import { assertSaved } from '../../gateways/gateway-index.js';
import type { PendingUpdate, UpdateTerms } from '../pending-update.js';
import { boundAfter, type ChangeQuote } from './discount.js';

type Input = In<typeof submitChange>;

/** The terms that a submitted change takes over when it takes effect. */
export async function updateTerms(tx: Tx, quoted: ChangeQuote, input: Input): Promise<UpdateTerms> {
  const { gatewayId, paymentMethodId, manualPayment } = input;
  const { newPeriod, after, calculated } = quoted;
  const { gatewayId: usedId = 0 } = quoted.gateway ?? {};
  await assertSaved(tx, { gatewayId: usedId, userId: quoted.sub.userId, methodId: paymentMethodId });
  const discount = await boundAfter(tx, quoted);
  const { taxPercentage, vatNumber, countryCode } = after;
  const taxed = { taxPercentage, vatNumber, countryCode };
  const terms = { discount, gatewayId, paymentMethodId, manualPayment, ...taxed };
  if (calculated.refused) throw invalid('/discountCode', calculated.refused.message);
  return newPeriod ? { ...terms, newPeriod } : terms;
}

/** The pending update of a submit, before it waits or takes effect. */
export function newUpdate(
  tx: Tx,
  quoted: ChangeQuote,
  terms: UpdateTerms,
  { metadata }: Input,
  { actor }: Caller,
): PendingUpdate {
  const { merchantId, now } = tx;
  const { sub, update, decision, at, calculated, gateway } = quoted;
  const { subscriptionId, userId, planId, quantity, amount, currency, planSnapshot, items, currentPeriodEnd } = sub;
  const isNow = decision.effect === 'now';
  const member = actor.kind === 'member';
  return {
    merchantId,
    pendingUpdateId: tx.newId('subup_'),
    version: 0,
    subscriptionId,
    userId,
    status: 'init',
    kind: decision.direction === 'downgrade' ? 'downgrade' : 'upgrade',
    prorationDate: at,
    effect: decision.effect,
    effectTime: isNow ? at : currentPeriodEnd,
    planId,
    quantity,
    amount,
    currency,
    planSnapshot,
    items,
    ...update,
    prorationAmount: calculated.composition.amounts.totalAmount,
    paid: false,
    invoiceId: '',
    link: '',
    gatewayId: gateway?.gatewayId ?? 0,
    name: calculated.input.name,
    note: '',
    memberId: member ? Number(actor.id) : 0,
    memberEmail: member ? actor.display : '',
    terms: { ...terms },
    metadata,
    createTime: now,
    modifyTime: now,
  };
}
