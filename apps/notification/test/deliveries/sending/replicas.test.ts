import { afterAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Outbound, type OutboundResult } from '@recur/platform';
import { Dispatcher } from '../../../src/deliveries/sending/dispatcher.js';
import { makeStand } from '../../stand.js';

const stand = await makeStand({ REDIS_URL: '' });
const { t, clock, received, merchant, newOne, event } = stand;
const replica = await t.replica();
const [first, second] = [t.app.get(Dispatcher), replica.app.get(Dispatcher)];
afterAll(() => stand.close());
beforeEach(() => {
  jest.restoreAllMocks();
  stand.anew();
});

const endpointCount = 20;
const eventCount = 30;

/** Endpoints of a merchant, each with a backlog. */
async function backlog(): Promise<number[]> {
  const ids: number[] = [];
  for (let at = 0; at < endpointCount; at++) ids.push((await newOne({ url: `${stand.url}/${at}` })).endpointId);
  await t.deliver(
    'billing',
    Array.from({ length: eventCount }, () => event()),
  );
  return ids;
}
const drain = (dispatcher: Dispatcher, ids: readonly number[]) =>
  Promise.all(ids.map(id => dispatcher.deliver(merchant.merchantId, id)));
const arrivals = () => received.map(({ path, headers }) => `${path} ${headers['webhook-id']}`);
const states = async (ids: readonly number[]) =>
  (await t.rows('select state from deliveries where endpoint_id = any($1)', [ids])).map(({ state }) => state);
const all = endpointCount * eventCount;

describe('two replicas', () => {
  it("share one merchant's backlog, and never take the same delivery", async () => {
    const ids = await backlog();
    const posts = [t.app, replica.app].map(app => jest.spyOn(app.get(Outbound), 'post'));
    await Promise.all([drain(first, ids), drain(second, ids)]);
    // a replica that finds everything leased rests: what the other had no time for comes with the next look
    await drain(first, ids);
    expect(received).toHaveLength(all);
    expect(new Set(arrivals()).size).toBe(all);
    for (const post of posts) expect(post.mock.calls.length).toBeGreaterThan(all / 10);
    expect(await states(ids)).toEqual(Array(all).fill('delivered'));
    const [logged] = await t.rows('select count(*) from attempts where endpoint_id = any($1)', [ids]);
    expect(Number(logged?.count)).toBe(all);
  });

  it('take over from each other: what one had leased when it was killed is sent when the leases expire', async () => {
    const ids = await backlog();
    // a process that is killed with requests in flight: the leases stay, and nothing is recorded
    const lost: string[] = [];
    let began = () => {};
    const beginning = new Promise<void>(resolve => {
      began = resolve;
    });
    const never = new Promise<OutboundResult>(() => undefined);
    jest.spyOn(replica.app.get(Outbound), 'post').mockImplementation((url, headers) => {
      lost.push(`${new URL(url).pathname} ${headers['webhook-id']}`);
      began();
      return never;
    });
    void drain(second, ids);
    await beginning;
    await drain(first, ids);
    const before = new Set(arrivals());
    expect(before.size).toBe(received.length);
    for (const each of lost) expect(before.has(each)).toBe(false);
    clock.advance(46);
    await drain(first, ids);
    expect(new Set(arrivals()).size).toBe(all);
    expect(received).toHaveLength(all);
    expect(await states(ids)).toEqual(Array(all).fill('delivered'));
  });
});
