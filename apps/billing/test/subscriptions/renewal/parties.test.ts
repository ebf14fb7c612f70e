import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { cancelSubscription, previewChange, previewSubscription, refundInvoice, submitChange } from '@recur/contracts';
import { type Subscribers, subscribers } from '../../world/clock.js';

const french = { vatCountryCode: 'FR', vatNumber: 'FR40303265045' };
const greek = { vatCountryCode: 'el', vatNumber: 'EL094259216' };

let s: Subscribers;
beforeAll(async () => {
  s = await subscribers('2026-04-01');
});
afterAll(() => s.t.close());
beforeEach(() => s.anew());

/** The documents of a subscription: kind, the buyer as it is printed, tax, and the category of that. */
async function documents(subscriptionId: string): Promise<string[]> {
  const rows = await s.t.rows(
    `select coalesce(nullif(note_reason, ''), replace(invoice_name, 'Subscription', '')) as name, buyer, tax_amount, taxes
      from invoices where subscription_id = $1 order by id`,
    [subscriptionId],
  );
  return rows.map(({ name, buyer, tax_amount, taxes }) => {
    const { countryCode, countryName, vATNumber } = buyer as Record<string, string>;
    const categories = (taxes as { category: string }[]).map(({ category }) => category);
    return `${name}: ${countryCode} ${countryName} ${vATNumber}, ${tax_amount} ${categories.join()}`;
  });
}

it('a VAT number and a country that are given with the order are the buyer on all its documents', async () => {
  const { id } = await s.subscribe({ userId: await s.userWithCard(), planId: s.plan(), ...french });
  await s.to('2026-05-02');
  const { invoiceId } = await s.state(id);
  await s.t.done(refundInvoice, { invoiceId, refundAmount: 200, reason: 'Late' }, s.merchant);
  await s.to('2026-05-03');
  await s.t.done(cancelSubscription, { subscriptionId: id, prorate: true }, s.merchant);
  const buyer = 'FR France FR40303265045, 0 AE';
  const names = ['Create', 'Cycle', 'refund', 'composed'];
  expect(await documents(id)).toEqual(names.map(name => `${name}: ${buyer}`));
  expect(await s.invoice(invoiceId)).toMatchObject({ countryCode: 'FR', vatNumber: french.vatNumber });
});

it('those of a change are the buyer on its document and the later ones', async () => {
  const { id } = await s.subscribe({ userId: await s.userWithCard(), planId: s.plan(), ...french });
  const change = { subscriptionId: id, newPlanId: s.plan({ amount: 3000 }), quantity: 1, ...greek };
  await s.to('2026-04-16');
  const { taxReason } = await s.t.done(previewChange, change, s.merchant);
  expect(taxReason).toContain(greek.vatNumber);
  await s.t.done(submitChange, change, s.merchant);
  await s.to('2026-05-02');
  expect(await documents(id)).toEqual([
    'Create: FR France FR40303265045, 0 AE',
    'Upgrade: GR Greece EL094259216, 0 AE',
    'Cycle: GR Greece EL094259216, 0 AE',
  ]);
});

it('those of a change at the end of the period are the buyer from then on', async () => {
  const { id } = await s.subscribe({ userId: await s.userWithCard(), planId: s.plan(), vatCountryCode: 'DE' });
  await s.to('2026-04-16');
  const change = { subscriptionId: id, newPlanId: s.plan({ amount: 500 }), quantity: 1, ...french };
  const { nextPeriodInvoice } = await s.t.done(previewChange, change, s.merchant);
  await s.t.done(submitChange, change, s.merchant);
  await s.to('2026-05-02');
  expect(await documents(id)).toEqual(['Create: DE Germany , 190 S', 'Downgrade: FR France FR40303265045, 0 AE']);
  expect(nextPeriodInvoice?.totalAmount).toBe(500);
});

it('a country that does not exist is refused with its field', async () => {
  const userId = await s.userWithCard();
  const { id } = await s.subscribe({ userId, planId: s.plan() });
  const calls = [
    s.t.call(previewSubscription, { userId, planId: s.plan(), vatCountryCode: 'Utopia' }, s.merchant),
    s.t.call(previewChange, { subscriptionId: id, newPlanId: s.plan(), vatCountryCode: 'QQ' }, s.merchant),
  ];
  const issues = [{ path: '/vatCountryCode', message: 'is no country code, such as DE' }];
  for (const answer of await Promise.all(calls)) expect(answer).toMatchObject({ slug: 'invalid_parameters', issues });
});
