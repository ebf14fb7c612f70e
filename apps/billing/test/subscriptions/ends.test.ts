import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addTrialTime,
  cancelAtPeriodEnd,
  cancelSubscription,
  keepAfterPeriodEnd,
  pendingUpdateEffect,
  setupWireTransfer,
  submitChange,
  updateSubscriptionConfig,
} from '@recur/contracts';
import { EndNotices1763683200067 } from '../../src/migrations/0067-end-notices.js';
import { type Subscribers, subscribers, trialSteps } from '../world/clock.js';

let s: Subscribers;
beforeAll(async () => {
  s = await subscribers();
});
afterAll(() => s.t.close());
beforeEach(() => s.anew('2026-01-31'));

const subscribed = async (of: object = {}, terms: object = {}) => {
  const userId = await s.userWithCard();
  const { id } = await s.subscribe({ userId, planId: s.plan(of), ...terms });
  await s.t.emitted();
  return { id, userId };
};
const endLater = (subscriptionId: string) => s.t.done(cancelAtPeriodEnd, { subscriptionId }, s.merchant);
const WILL_END = 'track.willcancel';

describe('an end with the period', () => {
  it('is told three days before the end of a month, once', async () => {
    const { id } = await subscribed();
    await endLater(id);
    expect(await s.events(id)).toEqual(['end.of.this.cycle']);
    await s.to('2026-02-24T23:59');
    expect(await s.events(id)).toEqual([]);
    await s.to('2026-02-25');
    expect(await s.events(id)).toEqual([WILL_END]);
    await s.to('2026-02-28');
    expect(await s.events(id)).toEqual(['cancelled', 'track.user.outofsubscribe']);
  });

  it('that is near is told at once, and again where it is set anew', async () => {
    const { id: subscriptionId } = await subscribed({ intervalUnit: 'day' });
    await s.to('2026-01-31T23:30');
    await s.t.emitted();
    await endLater(subscriptionId);
    await s.to('2026-01-31T23:31');
    expect(await s.events(subscriptionId)).toEqual(['end.of.this.cycle', WILL_END]);
    await endLater(subscriptionId);
    await s.to('2026-01-31T23:32');
    expect(await s.events(subscriptionId)).toEqual([]);
    await s.t.done(keepAfterPeriodEnd, { subscriptionId }, s.merchant);
    await endLater(subscriptionId);
    await s.to('2026-01-31T23:33');
    expect(await s.events(subscriptionId)).toEqual(['resume.end.of.this.cycle', 'end.of.this.cycle', WILL_END]);
  });

  it('that is taken back is not told', async () => {
    const { id: subscriptionId } = await subscribed();
    await endLater(subscriptionId);
    await s.t.done(keepAfterPeriodEnd, { subscriptionId }, s.merchant);
    await s.to('2026-02-27');
    expect(await s.events(subscriptionId)).not.toContain(WILL_END);
  });

  it('is told again where trial time moves it', async () => {
    const { id: subscriptionId } = await subscribed();
    await endLater(subscriptionId);
    await s.to('2026-02-26');
    expect(await s.events(subscriptionId)).toContain(WILL_END);
    await s.t.done(addTrialTime, { subscriptionId, appendTrialEndHour: 240 }, s.merchant);
    await s.to('2026-03-06T23:59');
    expect(await s.events(subscriptionId)).not.toContain(WILL_END);
    await s.to('2026-03-07');
    expect(await s.events(subscriptionId)).toEqual([WILL_END]);
  });

  it('is told as the plan of the end is, where a change without proration leaves it where it was, once', async () => {
    await s.t.done(updateSubscriptionConfig, { upgradeProration: false }, s.merchant);
    const { id: subscriptionId } = await subscribed();
    await endLater(subscriptionId);
    await s.to('2026-02-05');
    const changeTo = (intervalUnit: string) => {
      const now = { quantity: 1, effectImmediate: pendingUpdateEffect.now };
      return s.t.done(submitChange, { ...now, subscriptionId, newPlanId: s.plan({ intervalUnit }) }, s.merchant);
    };
    await changeTo('year');
    await s.to('2026-02-12T23:59');
    expect(await s.events(subscriptionId)).not.toContain(WILL_END);
    await s.to('2026-02-13');
    expect(await s.events(subscriptionId)).toEqual([WILL_END]);
    await changeTo('day');
    await s.to('2026-02-27T23:59');
    expect(await s.events(subscriptionId)).not.toContain(WILL_END);
    await s.to('2026-02-28');
    expect(await s.events(subscriptionId)).toEqual(['cancelled', 'track.user.outofsubscribe']);
  });

  it('is told again where another interval moves it', async () => {
    const { id: subscriptionId } = await subscribed();
    await endLater(subscriptionId);
    await s.to('2026-02-26');
    await s.t.emitted();
    const newPlanId = s.plan({ intervalUnit: 'week' });
    const change = { subscriptionId, newPlanId, quantity: 1, effectImmediate: pendingUpdateEffect.now };
    await s.t.done(submitChange, change, s.merchant);
    await s.to('2026-03-03T23:59');
    expect(await s.dates(subscriptionId)).toBe('active 02-26 03-05');
    expect(await s.events(subscriptionId)).not.toContain(WILL_END);
    await s.to('2026-03-04');
    expect(await s.events(subscriptionId)).toEqual([WILL_END]);
  });

  it('with its trial is told before that is over, and before its last step where it has several', async () => {
    const trial = { trialDurationTime: 7 * 86_400, cancelAtTrialEnd: 1 };
    const { id } = await subscribed(trial);
    const { id: inSteps } = await subscribed({ multiTrials: trialSteps, cancelAtTrialEnd: 1 });
    await s.to('2026-02-04');
    const events = await s.t.emitted();
    const told = (of: string) =>
      events.filter(({ aggregateId, type }) => aggregateId === of && type.endsWith(WILL_END));
    expect([told(id).length, told(inSteps).length]).toEqual([1, 0]);
    await s.to('2026-03-03T23:59');
    expect(await s.events(inSteps)).not.toContain(WILL_END);
    await s.to('2026-03-04');
    expect(await s.events(inSteps)).toEqual([WILL_END]);
  });

  it('that was set before the service told of ends is told as well', async () => {
    const { id } = await subscribed();
    const { id: goesOn } = await subscribed();
    await endLater(id);
    await s.t.rows(`delete from due_work where kind = 'subscription.end_notice'`);
    const query = (text: string) => s.t.rows(`set role billing_owner; ${text}; reset role`);
    await new EndNotices1763683200067().up({ query } as never);
    const own = `select key from due_work where kind = 'subscription.end_notice' and merchant_id = $1`;
    const work = await s.t.rows(own, [s.merchant.merchantId]);
    expect(work).toEqual([{ key: id }]);
    await s.to('2026-02-26');
    const told = (await s.t.emitted()).filter(({ type }) => type.endsWith(WILL_END));
    expect(told.map(({ aggregateId }) => aggregateId)).toEqual([id]);
    expect(await s.dates(goesOn)).toBe('active 01-31 02-28');
  });
});

describe('a user is told to have no subscription any more', () => {
  const OUT = 'subscription.track.user.outofsubscribe';
  const cancel = (subscriptionId: string) => s.t.done(cancelSubscription, { subscriptionId }, s.merchant);
  const told = async () => (await s.t.emitted()).filter(({ type }) => type === OUT).map(event => event.aggregateId);
  /** Two subscriptions of a user, to two products. */
  const two = async () => {
    const { id, userId } = await subscribed();
    const { id: other } = await s.subscribe({ userId, planId: s.plan({ productId: 77 }) });
    await s.t.emitted();
    return { id, other, userId };
  };

  it('when the last one ends', async () => {
    const { id, other } = await two();
    await cancel(id);
    expect(await told()).toEqual([]);
    await cancel(other);
    expect(await told()).toEqual([other]);
  });

  it('once, where both end at once', async () => {
    const { id, other } = await two();
    await Promise.all([cancel(id), cancel(other)]);
    expect(await told()).toHaveLength(1);
  });

  it('once, where one transaction ends both', async () => {
    const { id, other } = await two();
    await endLater(id);
    await endLater(other);
    await s.to('2026-03-01');
    expect(await told()).toHaveLength(1);
  });

  it('not by one that never began', async () => {
    const { id, userId } = await subscribed();
    const { gateway } = await s.t.done(setupWireTransfer, { currency: 'EUR', minimumAmount: 1 }, s.merchant);
    const { id: unpaid } = await s.subscribe({
      userId,
      planId: s.plan({ productId: 77 }),
      gatewayId: gateway.gatewayId,
    });
    await cancel(unpaid);
    expect(await told()).toEqual([]);
    await cancel(id);
    expect(await told()).toEqual([id]);
  });
});
