import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Input, orThrow } from '@recur/client';
import { invoiceStatus, paymentStatus } from '@recur/contracts';
import { advanceTo, timeOf } from '../../../simulate/clock.js';
import { sandboxGateway } from '../../card.js';
import { newPlan, newUser, type Shop } from '../../shop.js';
import { expectFailure, type Stand, sharedStand, times, until } from '../stand.js';

let stand: Stand;
let shop: Awaited<ReturnType<Stand['shop']>>;
let gatewayId: number;
let plans: { small: number; middle: number; large: number };

beforeAll(async () => {
  stand = await sharedStand();
  shop = await stand.shop('Clicks');
  gatewayId = await sandboxGateway(shop.api);
  const plan = async (amount: number) => {
    const planId = await newPlan(shop.api, { amount });
    orThrow(await shop.api.post('/merchant/plan/activate', { planId }));
    return planId;
  };
  plans = { small: await plan(1000), middle: await plan(2000), large: await plan(3000) };
});

/** Gives a user another card, the only one. */
async function useCard({ api }: Shop, userId: number, scenario: string): Promise<void> {
  const { methodList } = orThrow(await api.get('/merchant/payment/method_list', { gatewayId, userId }));
  for (const { id } of methodList)
    orThrow(await api.post('/merchant/payment/method/delete', { gatewayId, userId, paymentMethodId: id }));
  orThrow(await api.post('/merchant/payment/method/new', { gatewayId, userId, data: { scenario } }));
}

/** Charges of a subscription that the gateway took, by invoice. */
const taken = (subscriptionId: string) =>
  stand.ask(
    'billing',
    `select i.invoice_id, count(*)::integer as charges from sandbox_charges c
     join payments p on p.merchant_id = c.merchant_id and p.payment_id = regexp_replace(c.idempotency_key, '-\\d+$', '')
     join invoices i on i.merchant_id = p.merchant_id and i.invoice_id = p.invoice_id
     where i.subscription_id = '${subscriptionId}' and c.kind = 'charge' and c.state = 'succeeded'
     group by 1 order by min(i.create_time), 1`,
  );

const outcomeOf = async (paymentId: string) =>
  (await stand.ask('billing', `select outcome from payments where payment_id = '${paymentId}'`))[0]?.outcome;

describe('a double click', () => {
  it('on a change, by five customers whose card answers late, charges each of them once', async () => {
    const { api, wire } = shop;
    const customer = async () => {
      const userId = await newUser(api);
      await useCard(shop, userId, 'succeeds');
      const terms = { userId, gatewayId, planId: plans.small, quantity: 1 };
      const first = orThrow(await api.post('/merchant/subscription/create_submit', terms));
      const { subscriptionId } = first.subscription;
      const detail = async () => orThrow(await api.get('/merchant/invoice/detail', { invoiceId: first.invoiceId }));
      await until(detail, ({ invoice }) => invoice.status === invoiceStatus.paid);
      await useCard(shop, userId, 'times_out_after_charging');
      const change: Input<'/merchant/subscription/update_submit'> = {
        subscriptionId,
        newPlanId: plans.middle,
        quantity: 1,
      };
      const clicked = await Promise.all(times(2, () => api.post('/merchant/subscription/update_submit', change)));
      const [one, other] = clicked.map(orThrow);
      expect(other).toMatchObject({ invoiceId: one?.invoiceId });
      const { paymentId, invoiceId } = orThrow(
        await api.get('/merchant/invoice/detail', { invoiceId: one?.invoiceId ?? '' }),
      ).invoice;
      await until(
        () => outcomeOf(paymentId),
        outcome => outcome === 'sending' || outcome === 'unknown',
      );
      // the same again, once it is sent, is the same change; another one, and the end, have to wait
      expect(orThrow(await api.post('/merchant/subscription/update_submit', change))).toMatchObject({ invoiceId });
      for (const [path, body] of [
        ['/merchant/subscription/update_submit', { ...change, newPlanId: plans.large }],
        ['/merchant/subscription/cancel', { subscriptionId }],
      ] as const)
        expectFailure(await wire.send(path, body), 400, 52, 'payment_under_way');
      return { subscriptionId, invoices: [first.invoiceId, invoiceId] };
    };
    const customers = await Promise.all(times(5, customer));
    // the gateway is asked for the charges whose answers came too late
    await advanceTo(api, (await timeOf(api)) + 600);
    for (const { subscriptionId, invoices } of customers) {
      const { subscription } = orThrow(await api.get('/merchant/subscription/detail', { subscriptionId }));
      expect(subscription.planId).toBe(plans.middle);
      const charged = (await taken(subscriptionId)).map(row => [row.invoice_id, row.charges]);
      expect(charged.sort()).toEqual(invoices.map(invoiceId => [invoiceId, 1]).sort());
    }
    await stand.quiet();
  });
});

it('a purchase charges the card that it names, and a saved card what an older one could not pay', async () => {
  const { api } = shop;
  const userId = await newUser(api);
  const save = async (scenario: string) =>
    orThrow(await api.post('/merchant/payment/method/new', { gatewayId, userId, data: { scenario } })).method?.id ?? '';
  const [bad, good] = [await save('declines_hard'), await save('succeeds')];
  const buy = async (more: object = {}) => {
    const terms = { userId, gatewayId, planId: plans.small, quantity: 1, ...more };
    return orThrow(await api.post('/merchant/subscription/create_submit', terms));
  };
  const named = await buy({ paymentMethodId: good });
  const detail = async (invoiceId: string) => orThrow(await api.get('/merchant/invoice/detail', { invoiceId })).invoice;
  const paid = await until(
    () => detail(named.invoiceId),
    ({ status }) => status === invoiceStatus.paid,
  );
  expect(paid).toMatchObject({ PaymentMethodId: good, payment: { paymentMethodName: 'Sandbox •••• 4242' } });

  const { subscriptionId } = named.subscription;
  orThrow(await api.post('/merchant/subscription/cancel', { subscriptionId }));
  orThrow(await api.post('/merchant/payment/method/delete', { gatewayId, userId, paymentMethodId: good }));
  const { invoiceId } = await buy();
  const refused = await until(
    () => detail(invoiceId),
    ({ payment }) => payment?.status === paymentStatus.failed,
  );
  expect(refused.PaymentMethodId).toBe(bad);
  const another = await save('calls_back_twice');
  const mended = await until(
    () => detail(invoiceId),
    ({ status }) => status === invoiceStatus.paid,
  );
  expect(mended.PaymentMethodId).toBe(another);
});
