import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  activateTemporarily,
  addTrialTime,
  cancelAtPeriodEnd,
  cancelSubscription,
  changeDueDay,
  changeGateway,
  invoiceStatus,
  keepAfterPeriodEnd,
  listPaymentMethods,
  newPaymentMethod,
  previewNextInvoice,
  renewSubscription,
  resumeSubscription,
} from '@recur/contracts';
import { type Subscribers, shown, subscribers, utc } from '../../world/clock.js';

let s: Subscribers;
beforeAll(async () => {
  s = await subscribers();
});
afterAll(() => s.t.close());

const extend = (subscriptionId: string, appendTrialEndHour: number) =>
  s.t.call(addTrialTime, { subscriptionId, appendTrialEndHour }, s.merchant);
const begun = async (over: object = {}, scenario = 'succeeds') => {
  const userId = await s.userWithCard(scenario);
  return { userId, ...(await s.subscribe({ userId, planId: s.plan({ amount: 3000 }), ...over })) };
};
const trialEnd = async (id: string) =>
  shown(Number((await s.t.rows('select trial_end from subscriptions where subscription_id = $1', [id]))[0]?.trial_end));
const live = async (id: string) =>
  (await s.periods(id)).map(
    row => `${row.kind} ${shown(Number(row.start_at))} ${shown(Number(row.end_at))} ${row.state}`,
  );

describe('add_new_trial_start', () => {
  beforeEach(() => s.anew('2026-02-28'));

  it('appends free hours to the end of the period; repeats add up', async () => {
    const { id } = await begun();
    await s.to('2026-03-20');
    await s.events(id);
    await extend(id, 36);
    expect([await trialEnd(id), await s.dates(id)]).toEqual(['03-29T12:00', 'active 02-28 03-29T12:00']);
    await extend(id, 12);
    expect([await trialEnd(id), await s.dates(id)]).toEqual(['03-30', 'active 02-28 03-30']);
    expect(await s.events(id)).toEqual(['updated', 'updated']);
    await s.to('2026-05-10');
    expect(await live(id)).toEqual([
      'cycle 02-28 03-28 paid',
      'free 03-28 03-29T12:00 paid',
      'free 03-29T12:00 03-30 paid',
      'cycle 03-30 04-30 paid',
      'cycle 04-30 05-30 paid',
    ]);
  });

  it('leaves a paid next invoice as it is and moves its period; an open one is made again', async () => {
    await s.anew('2026-02-28');
    const { id } = await begun({ planId: s.plan({ amount: 3000 }) });
    await s.to('2026-03-27T23:00');
    expect(await live(id)).toEqual(['cycle 02-28 03-28 paid', 'cycle 03-28 04-28 paid']);
    await extend(id, 36);
    expect(await live(id)).toEqual([
      'cycle 02-28 03-28 paid',
      'free 03-28 03-29T12:00 paid',
      'cycle 03-29T12:00 04-29T12:00 paid',
    ]);
    await s.to('2026-04-26T00:00');
    expect(await s.dates(id)).toBe('active 03-29T12:00 04-29T12:00');
    await s.to('2026-04-26T13:00');
    expect((await s.invoices(id)).at(-1)).toBe('Cycle processing 04-29T12:00 05-29T12:00 3000');
    await extend(id, 12);
    await s.to('2026-04-27T01:00');
    expect((await s.invoices(id)).slice(-2)).toEqual([
      'Cycle cancelled 04-29T12:00 05-29T12:00 3000',
      'Cycle processing 04-30 05-30 3000',
    ]);
    const rows = await s.periods(id);
    for (const [at, row] of rows.entries()) if (at > 0) expect(row.start_at).toBe(rows[at - 1]?.end_at);
  });

  it('moves a paid stub with its length: full periods follow it, at the full price', async () => {
    const { id } = await begun();
    await s.t.done(changeDueDay, { subscriptionId: id, dueDay: 13 }, s.merchant);
    await s.to('2026-03-27T23:00');
    expect((await live(id)).slice(1)).toEqual(['stub 03-28 04-13 paid']);
    await extend(id, 36);
    await s.to('2026-05-01');
    expect((await live(id)).slice(1)).toEqual([
      'free 03-28 03-29T12:00 paid',
      'stub 03-29T12:00 04-14T12:00 paid',
      'cycle 04-14T12:00 05-14T12:00 paid',
    ]);
    // 16 of 31 days
    expect((await s.invoices(id)).slice(1)).toEqual([
      'Cycle paid 03-28 04-13 1548',
      'Cycle paid 04-14T12:00 05-14T12:00 3000',
    ]);
  });

  it('makes an incomplete one active: its open invoice is cancelled', async () => {
    const { id, userId } = await begun();
    await s.to('2026-03-20');
    await s.swap(userId, 'declines_softly');
    await s.to('2026-03-28T06:00');
    const { invoiceId, status } = await s.state(id);
    expect(status).toBe('incomplete');
    await s.events(id);
    await extend(id, 24);
    expect(await s.dates(id)).toBe('active 02-28 03-29T06:00');
    expect((await s.invoice(invoiceId)).status).toBe(invoiceStatus.cancelled);
    expect(await s.events(id)).toEqual(['updated', 'activated']);
  });

  it('in place of the time of a first period that is not paid, from its start on', async () => {
    const userId = await s.userWithCard('declines_softly');
    const { id } = await s.subscribe({ userId, planId: s.plan({ amount: 3000 }), startIncomplete: true });
    expect(await s.dates(id)).toBe('incomplete 02-28 03-28');
    const { invoiceId } = await s.state(id);
    await s.to('2026-03-01T06:00');
    await extend(id, 24);
    expect([await s.dates(id), await live(id)]).toEqual(['active 02-28 03-02T06:00', ['free 02-28 03-02T06:00 paid']]);
    expect((await s.invoice(invoiceId)).status).toBe(invoiceStatus.cancelled);
    await s.swap(userId, 'succeeds');
    await s.to('2026-03-03');
    expect((await s.invoices(id)).at(-1)).toBe('Cycle paid 03-02T06:00 04-02T06:00 3000');
  });

  it('is refused after the end, and for a subscription that is not there', async () => {
    const { id } = await begun();
    await s.t.done(cancelSubscription, { subscriptionId: id }, s.merchant);
    expect(await extend(id, 1)).toMatchObject({ ok: false, slug: 'subscription_not_extendable' });
    expect(await extend('sub_none', 1)).toMatchObject({ ok: false, slug: 'subscription_not_found' });
  });
});

describe('change_due_day', () => {
  beforeEach(() => s.anew('2026-03-10'));
  const change = (subscriptionId: string, dueDay: number) =>
    s.t.call(changeDueDay, { subscriptionId, dueDay }, s.merchant);

  it('leads to the day by a stub after the current period', async () => {
    const { id } = await begun();
    const answer = await change(id, 25);
    expect(answer).toMatchObject({ ok: true, data: { invoice: { totalAmount: 1500 } } });
    await s.to('2026-04-26');
    expect(await s.invoices(id)).toEqual([
      'Create paid 03-10 04-10 3000',
      'Cycle paid 04-10 04-25 1500',
      'Cycle paid 04-25 05-25 3000',
    ]);
    expect(await change(id, 25)).toMatchObject({ ok: true, data: { invoice: null } });
  });

  it('keeps a paid next period, and replaces an open one', async () => {
    const { id } = await begun();
    await s.to('2026-04-09T23:00');
    await change(id, 25);
    await s.to('2026-05-26');
    expect((await s.invoices(id)).slice(1)).toEqual([
      'Cycle paid 04-10 05-10 3000',
      'Cycle paid 05-10 05-25 1452',
      'Cycle paid 05-25 06-25 3000',
    ]);
    const other = await begun();
    await s.to('2026-06-24T00:00');
    await change(other.id, 1);
    await s.to('2026-07-02');
    expect([await s.dates(other.id), await s.invoices(other.id)]).toEqual([
      'active 07-01 08-01',
      [
        'Create paid 05-26 06-26 3000',
        'Cycle cancelled 06-26 07-26 3000',
        'Cycle paid 06-26 07-01 500',
        'Cycle paid 07-01 08-01 3000',
      ],
    ]);
  });

  it('is refused in a trial, by the day, and when it is not active', async () => {
    const trial = await begun({ trialEnd: utc('2026-03-20') });
    expect(await change(trial.id, 5)).toMatchObject({ slug: 'subscription_wrong_state' });
    const daily = await begun({ planId: s.plan({ intervalUnit: 'day' }) });
    expect(await change(daily.id, 5)).toMatchObject({ slug: 'subscription_wrong_state' });
    expect(await change('sub_none', 5)).toMatchObject({ slug: 'subscription_not_found' });
  });
});

describe('the course of a subscription', () => {
  beforeEach(() => s.anew('2026-01-31'));

  it('ends with its period where it was cancelled so', async () => {
    const { id } = await begun();
    await s.t.done(cancelAtPeriodEnd, { subscriptionId: id }, s.merchant);
    await s.to('2026-03-01');
    expect([await s.dates(id), (await s.invoices(id)).length]).toEqual(['cancelled 01-31 02-28', 1]);
  });

  it('is not charged for its next period once it is cancelled so, unless that is taken back', async () => {
    const { id: subscriptionId } = await begun();
    await s.to('2026-02-26');
    const open = 'Cycle processing 02-28 03-31 3000';
    expect((await s.invoices(subscriptionId)).at(-1)).toBe(open);
    await s.t.done(cancelAtPeriodEnd, { subscriptionId }, s.merchant);
    expect(await s.t.call(previewNextInvoice, { subscriptionId }, s.merchant)).toMatchObject({
      slug: 'subscription_without_next_invoice',
    });
    await s.to('2026-02-27T23:00');
    expect((await s.invoices(subscriptionId)).at(-1)).toBe(open);
    await s.t.done(keepAfterPeriodEnd, { subscriptionId }, s.merchant);
    await s.to('2026-02-27T23:01');
    expect((await s.invoices(subscriptionId)).at(-1)).toBe('Cycle paid 02-28 03-31 3000');
    await s.to('2026-03-29');
    await s.t.done(cancelAtPeriodEnd, { subscriptionId }, s.merchant);
    await s.to('2026-03-31');
    expect(await s.dates(subscriptionId)).toBe('cancelled 02-28 03-31');
    expect((await s.invoices(subscriptionId)).at(-1)).toBe('Cycle cancelled 03-31 04-30 3000');
  });

  it('may be used until a time, which is the deadline of its invoice', async () => {
    const { id, userId } = await begun();
    await s.to('2026-02-20');
    await s.swap(userId, 'declines_softly');
    await s.to('2026-02-28T06:00');
    const grant = (expireTime: number) => s.t.call(activateTemporarily, { subscriptionId: id, expireTime }, s.merchant);
    expect(await grant(utc('2026-04-28'))).toMatchObject({ slug: 'invalid_parameters' });
    expect(await grant(utc('2026-03-10'))).toMatchObject({ ok: true });
    await s.to('2026-03-09T23:59');
    expect((await s.state(id)).status).toBe('incomplete');
    await s.to('2026-03-10');
    expect((await s.state(id)).status).toBe('expired');
    expect(await grant(utc('2026-03-11'))).toMatchObject({ slug: 'subscription_wrong_state' });
    const unknown = { subscriptionId: 'sub_none', expireTime: utc('2026-03-11') };
    expect(await s.t.call(activateTemporarily, unknown, s.merchant)).toMatchObject({ slug: 'subscription_not_found' });
  });

  it('changes its gateway to one that it can use', async () => {
    const { id } = await begun();
    const change = (gatewayId: number, over = {}) =>
      s.t.call(changeGateway, { subscriptionId: id, gatewayId, ...over }, s.merchant);
    expect(await change(s.gatewayId())).toMatchObject({ ok: true });
    expect(await change(999)).toMatchObject({ slug: 'gateway_not_found' });
    expect(await change(s.gatewayId(), { paymentMethodId: 'pm_none' })).toMatchObject({
      slug: 'payment_method_not_found',
    });
    const unknown = { subscriptionId: 'sub_none', gatewayId: s.gatewayId() };
    expect(await s.t.call(changeGateway, unknown, s.merchant)).toMatchObject({ slug: 'subscription_not_found' });
    await s.t.rows('update gateways set archived = true where gateway_id = $1', [s.gatewayId()]);
    expect(await change(s.gatewayId())).toMatchObject({ slug: 'gateway_archived' });
    await s.t.done(cancelSubscription, { subscriptionId: id }, s.merchant);
    expect(await change(s.gatewayId())).toMatchObject({ slug: 'subscription_wrong_state' });
  });

  it('is charged at once with the method that it is changed to, an older one too', async () => {
    const { id: subscriptionId, userId } = await begun({}, 'succeeds');
    await s.t.done(
      newPaymentMethod,
      { gatewayId: s.gatewayId(), userId, data: { scenario: 'declines_softly' } },
      s.merchant,
    );
    const at = { gatewayId: s.gatewayId(), userId };
    const { methodList } = await s.t.done(listPaymentMethods, at, s.merchant);
    const [works, declines] = [true, false].map(first => methodList.find(({ isDefault }) => isDefault === first)?.id);
    const choose = (paymentMethodId = '') =>
      s.t.done(changeGateway, { subscriptionId, gatewayId: s.gatewayId(), paymentMethodId }, s.merchant);
    await choose(declines);
    await s.to('2026-02-28T05:00');
    expect(await s.dates(subscriptionId)).toBe('incomplete 01-31 02-28');
    await choose(works);
    await s.to('2026-02-28T05:01');
    expect(await s.dates(subscriptionId)).toBe('active 02-28 03-31');
  });

  it('is renewed after its end, with an anchor of its own', async () => {
    const { id, userId } = await begun();
    const renew = (over = {}) => s.t.call(renewSubscription, { subscriptionId: id, ...over }, s.merchant);
    expect(await renew()).toMatchObject({ slug: 'subscription_wrong_state' });
    await s.to('2026-02-10');
    await s.t.done(cancelSubscription, { subscriptionId: id }, s.merchant);
    const renewed = await s.t.done(renewSubscription, { userId, productId: 0 }, s.merchant);
    await s.to('2026-02-11');
    const next = renewed.subscription.subscriptionId;
    expect(await s.dates(next)).toBe('active 02-10 03-10');
    expect(await s.invoices(next)).toEqual(['Renew paid 02-10 03-10 3000']);
    expect((await s.invoice(renewed.invoiceId)).planSnapshot?.chargeType).toBe(4);
    expect(await renew()).toMatchObject({ slug: 'subscription_exists' });
    expect(await renew({ subscriptionId: 'sub_none' })).toMatchObject({ slug: 'subscription_not_found' });
  });

  it('is taken up again after it was parked, one period per retry interval', async () => {
    const { id } = await begun({ planId: s.plan({ intervalUnit: 'day' }) });
    const resume = () => s.t.call(resumeSubscription, { subscriptionId: id }, s.merchant);
    expect(await resume()).toMatchObject({ slug: 'subscription_not_parked' });
    expect(await s.t.call(resumeSubscription, { subscriptionId: 'sub_none' }, s.merchant)).toMatchObject({
      slug: 'subscription_not_found',
    });
    s.clock.advance(6 * 86_400);
    await s.drain();
    expect(await resume()).toMatchObject({ ok: true });
    await s.drain();
    expect(await s.invoices(id)).toHaveLength(2);
    for (let n = 0; n < 14; n++) {
      s.clock.advance(43_200);
      await s.drain();
    }
    const { start, end } = await s.state(id);
    const [{ now = 0 } = {}] = [{ now: s.clock.now() + utc('2026-01-31') - utc('2026-01-15T12:00') }];
    expect(start <= now && now < end).toBe(true);
  });
});
