import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { systemCaller } from '@recur/platform';
import { makeStand, type Stand } from '../stand.js';

let s: Stand;
beforeAll(async () => {
  s = await makeStand();
});
afterAll(() => s.close());
beforeEach(() => {
  s.anew();
  offset = 0;
  version = 0;
});

let offset = 0;
let version = 0;
/** The merchant's clock goes forward in billing. */
const move = (seconds: number) => {
  offset += seconds;
  const data = { now: s.clock.now() + offset, offset };
  const { merchantId } = s.merchant;
  const clock = { type: 'clock.moved', aggregate: 'clock', aggregateId: String(merchantId), version: ++version };
  return s.t.deliver('billing', [s.event({ ...clock, data })]);
};
const nextIn = async (endpointId: number) =>
  (await s.deliveriesOf(endpointId)).map(({ next_at_ms }) => next_at_ms && Number(next_at_ms) - s.clock.wall());

it("a retry comes when the merchant's clock has come to it: ten attempts within 75 of its hours", async () => {
  const { endpointId } = await s.newOne();
  s.answerWith(500);
  await s.t.deliver('billing', [s.event()]);
  await s.deliver(endpointId);
  const slots: number[] = [];
  for (let at = 1; at < 10; at++) {
    const [ms = 0] = await nextIn(endpointId);
    slots.push(Number(ms) / 1000);
    await move(Number(ms) / 1000 - 1);
    await s.deliver(endpointId);
    expect(s.received).toHaveLength(at);
    expect(await nextIn(endpointId)).toEqual([1_000]);
    await move(1);
    await s.deliver(endpointId);
    expect(s.received).toHaveLength(at + 1);
  }
  expect(slots).toEqual([5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]);
  expect(await s.deliveriesOf(endpointId)).toMatchObject([{ state: 'failed', attempts: 10 }]);
  // signed in real time
  const stamps = s.received.map(({ headers }) => headers['webhook-timestamp']);
  expect(new Set(stamps)).toEqual(new Set([String(s.clock.now())]));
});

it("brings forward nothing of another merchant's, and takes each move once", async () => {
  const { endpointId } = await s.newOne();
  s.answerWith(500);
  await s.t.deliver('billing', [s.event()]);
  await s.deliver(endpointId);
  const mine = { ...s.merchant };
  s.merchant.merchantId += 1_000;
  await move(3);
  s.merchant.merchantId = mine.merchantId;
  expect(await nextIn(endpointId)).toEqual([5_000]);
  [offset, version] = [0, 0];
  await move(3);
  offset -= 1;
  await move(0);
  expect(await nextIn(endpointId)).toEqual([2_000]);
  const caller = systemCaller(mine.merchantId, 'test', Number.POSITIVE_INFINITY);
  expect(await s.t.db.read(caller, async reader => reader.now)).toBe(s.clock.now() + 3);
});
