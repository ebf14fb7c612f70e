import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { getUser, listUsers, newUser, type Subscription, subscriptionStatus, updateUser } from '@recur/contracts';
import { type TestService, testService } from '@recur/platform/testing';
import { identity } from '../../src/service.js';
import { planned, planOf, subscribed, subscriptionOf } from '../published.js';

const { pending, active, cancelled, expired, incomplete, processing, failed, init } = subscriptionStatus;

let t: TestService;
beforeAll(async () => {
  t = await testService(identity);
  await t.deliver('catalog', [planned(planOf(5)), planned(planOf(6))]);
});
afterAll(() => t.close());

let made = 0;
const user = async () => (await t.done(newUser, { email: `s${++made}@example.com` })).user;
const tell = async (data: Subscription, version = 1) => {
  await t.deliver('billing', [subscribed(data, version)]);
  return data;
};
const shown = async (userId: number) => {
  const { subscriptionId, subscriptionName, subscriptionStatus, recurringAmount, planId } = (
    await t.done(getUser, { userId })
  ).user;
  return { subscriptionId, subscriptionName, subscriptionStatus, recurringAmount, planId };
};
const none = { subscriptionId: '', subscriptionName: '', subscriptionStatus: 0, recurringAmount: 0, planId: 0 };

describe('the subscription that a user shows', () => {
  it('is none before billing tells of one, and then that, as it is now', async () => {
    const { id } = await user();
    expect(await shown(id)).toEqual(none);
    const first = await tell(subscriptionOf(id, { amount: 1_900, planId: 5, status: pending }));
    const summary = { subscriptionId: first.subscriptionId, subscriptionName: 'Plan 5', planId: 5 };
    expect(await shown(id)).toEqual({ ...summary, subscriptionStatus: pending, recurringAmount: 1_900 });
    await tell({ ...first, status: active, amount: 2_500, planId: 6 }, 2);
    const after = {
      ...summary,
      subscriptionName: 'Plan 6',
      planId: 6,
      subscriptionStatus: active,
      recurringAmount: 2_500,
    };
    expect(await shown(id)).toEqual(after);
    // an older version is dropped
    await tell({ ...first, status: cancelled }, 1);
    expect(await shown(id)).toEqual(after);
  });

  it('is the newest that lives, else the newest', async () => {
    const { id } = await user();
    const at = (createTime: number, status: number) => tell(subscriptionOf(id, { createTime, status }));
    const old = await at(100, cancelled);
    expect(await shown(id)).toMatchObject({ subscriptionId: old.subscriptionId, subscriptionStatus: cancelled });
    for (const [seconds, status] of [active, incomplete, pending, processing].entries()) {
      const { subscriptionId } = await at(200 + seconds, status);
      expect(await shown(id)).toMatchObject({ subscriptionId, subscriptionStatus: status });
    }
    const live = (await shown(id)).subscriptionId;
    for (const [seconds, status] of [expired, failed, cancelled, init].entries()) await at(300 + seconds, status);
    expect((await shown(id)).subscriptionId).toBe(live);
  });

  it('stands in the events of the user, and changes neither its version nor its events', async () => {
    const { id } = await user();
    await t.emitted();
    const { subscriptionId } = await tell(subscriptionOf(id));
    expect(await t.emitted()).toEqual([]);
    const summary = { subscriptionId, subscriptionName: 'Plan 5', subscriptionStatus: active, recurringAmount: 1_900 };
    const { user: after } = await t.done(updateUser, { userId: id, city: 'Paris' });
    expect(after).toMatchObject({ ...summary, planId: 5, version: 2 });
    expect(await t.emitted()).toMatchObject([{ type: 'user.updated', version: 2, data: summary }, {}]);
  });

  it('is right whatever changes at once: subscriptions of one user, by two replicas, and the user', async () => {
    const { id } = await user();
    const other = await t.replica();
    const consumers = [t, other].map(of =>
      of.consumers.find(({ what }) => what.name === 'identity-copy-subscriptions'),
    );
    const all = Array.from({ length: 64 }, (_, at) => subscriptionOf(id, { createTime: 1_000 + at, amount: at + 1 }));
    await Promise.all([
      ...all.map((data, at) => consumers[at % 2]?.receive(15, [subscribed(data)])),
      ...Array.from({ length: 8 }, (_, at) => t.done(updateUser, { userId: id, city: `City ${at}` })),
    ]);
    expect(await shown(id)).toMatchObject({ subscriptionId: all[63]?.subscriptionId, recurringAmount: 64 });
    expect((await t.done(getUser, { userId: id })).user.version).toBe(9);
  });

  it('is of its own merchant', async () => {
    const { id } = await user();
    await t.deliver('billing', [{ ...subscribed(subscriptionOf(id)), merchantId: 16 }]);
    expect(await shown(id)).toEqual(none);
  });
});

describe('user/list by subscription', () => {
  const merchantId = 30;
  const ids: number[] = [];
  const listed = async (filter: object) => {
    const { userAccounts, total } = await t.done(listUsers, { page: 0, count: 20, ...filter }, { merchantId });
    expect(total).toBe(userAccounts.length);
    return userAccounts.map(({ id }) => ids.indexOf(id));
  };
  beforeAll(async () => {
    for (let n = 0; n < 5; n++) {
      ids.push((await t.done(newUser, { email: `l${n}@example.com` }, { merchantId })).user.id);
    }
    const events = [
      subscriptionOf(ids[0] ?? 0, { subscriptionId: 'sub_0', planId: 5, status: active }),
      subscriptionOf(ids[1] ?? 0, { subscriptionId: 'sub_1', planId: 6, status: active }),
      subscriptionOf(ids[2] ?? 0, { subscriptionId: 'sub_2', planId: 6, status: cancelled }),
      subscriptionOf(ids[3] ?? 0, { subscriptionId: 'sub_3', planId: 7, status: active }),
      subscriptionOf(ids[3] ?? 0, { subscriptionId: 'sub_3old', planId: 5, status: cancelled, createTime: 1 }),
    ].map(data => ({ ...subscribed({ ...data, merchantId }), merchantId }));
    await t.deliver('billing', events);
  });

  it.each([
    [{ planIds: [5] }, [0]],
    [{ planIds: '6,7' }, [3, 2, 1]],
    [{ planIds: [99] }, []],
    [{ planIds: [2 ** 53 - 1, -1, 0] }, [4]],
    [{ subStatus: [2] }, [3, 1, 0]],
    [{ subStatus: [4, 2] }, [3, 2, 1, 0]],
    [{ subStatus: [0] }, [4]],
    [{ subStatus: '0,4' }, [4, 2]],
    [{ subStatus: [77] }, []],
    [{ subStatus: [2 ** 53 - 1, -(2 ** 53 - 1)] }, []],
    [{ subStatus: [4, 2 ** 53 - 1] }, [2]],
    [{ planIds: [6], subStatus: [2] }, [1]],
    [{ subscriptionId: 'sub_1' }, [1]],
    [{ subscriptionId: 'sub_3old' }, [3]],
    [{ subscriptionId: 'SUB_1' }, []],
    [{ subscriptionId: 'sub_1', planIds: [5] }, []],
    [{ subscriptionId: '', planIds: [], subStatus: [] }, [4, 3, 2, 1, 0]],
    [{ planIds: [6], email: 'l1' }, [1]],
  ])('finds by %j', async (filter, found) => {
    expect(await listed(filter)).toEqual(found);
  });

  it("finds nothing by another merchant's", async () => {
    const theirs = await t.done(listUsers, { page: 0, count: 20, subscriptionId: 'sub_1' }, { merchantId: 31 });
    expect(theirs).toEqual({ userAccounts: [], total: 0 });
  });
});
