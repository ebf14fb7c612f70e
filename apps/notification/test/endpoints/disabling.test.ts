import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { updateEndpoint } from '@recur/contracts';
import { Redis } from 'ioredis';
import { catchUpKind } from '../../src/deliveries/catch-ups.js';
import { disableAfter, warnAfter } from '../../src/endpoints/domain/endpoint.js';
import { makeStand } from '../stand.js';

const stand = await makeStand();
const { t, clock, url, received, merchant, answerWith, newOne, event, deliver, deliveriesOf, untilDue } = stand;
const redis = new Redis(process.env.TEST_REDIS_URL ?? '');
afterAll(async () => {
  redis.disconnect();
  await stand.close();
});
beforeEach(() => stand.anew());

const told = async () =>
  (await t.emitted()).flatMap(({ type, data }) =>
    type.startsWith('webhook.endpoint.') ? [[type.slice(17), (data as { id: number }).id]] : [],
  );
/** One more failure of the endpoint, at this time from when it began to fail. */
async function failAt(endpointId: number, sinceMs: number, afterMs: number): Promise<void> {
  clock.advance((sinceMs + afterMs - clock.wall()) / 1000);
  await t.rows('delete from due where endpoint_id = $1', [endpointId]);
  await t.deliver('billing', [event()]);
  await deliver(endpointId);
}
/** Failures of an endpoint at the very first moment, so many. */
async function failing(count: number) {
  const { endpointId } = await newOne();
  answerWith(503);
  await t.emitted();
  const sinceMs = clock.wall();
  for (let at = 0; at < count; at++) await failAt(endpointId, sinceMs, 0);
  return { endpointId, sinceMs };
}

describe('an endpoint that fails', () => {
  it('is warned at half the time and disabled at the whole, to the millisecond, and Redis does not matter', async () => {
    const { endpointId, sinceMs } = await failing(disableAfter.failures);
    await failAt(endpointId, sinceMs, warnAfter.ms - 1);
    expect(await told()).toEqual([]);
    await redis.flushall();
    await failAt(endpointId, sinceMs, warnAfter.ms);
    expect(await told()).toEqual([['failing', endpointId]]);
    await redis.flushall();
    await failAt(endpointId, sinceMs, disableAfter.ms - 1);
    expect(await told()).toEqual([]);
    await failAt(endpointId, sinceMs, disableAfter.ms);
    expect(await told()).toEqual([['disabled', endpointId]]);
  });

  it('is not disabled before it has failed 20 times, and one success begins anew', async () => {
    const { endpointId, sinceMs } = await failing(warnAfter.failures - 1);
    await failAt(endpointId, sinceMs, disableAfter.ms);
    expect(await told()).toEqual([['failing', endpointId]]);
    for (let failures = warnAfter.failures + 1; failures < disableAfter.failures; failures++) {
      await failAt(endpointId, sinceMs, disableAfter.ms);
    }
    answerWith(200);
    await failAt(endpointId, sinceMs, disableAfter.ms);
    answerWith(503);
    for (let failures = 0; failures < disableAfter.failures; failures++) {
      await failAt(endpointId, sinceMs, disableAfter.ms + 1);
    }
    expect(await told()).toEqual([]);
  });

  it('is told of one by one, where several are found failing at once', async () => {
    const several = await Promise.all([newOne(), newOne(), newOne()]);
    const ids = several.map(({ endpointId }) => endpointId).sort();
    answerWith(410);
    await t.deliver('billing', [event(), event()]);
    await t.emitted();
    await Promise.all(ids.map(deliver));
    expect((await told()).sort()).toEqual(ids.map(id => ['disabled', id]));
    for (const id of ids) {
      expect((await deliveriesOf(id)).map(({ state }) => state)).toEqual(['missed', 'missed']);
    }
  });

  it('and is disabled by that is sent everything when it works again', async () => {
    const { endpointId, sinceMs } = await failing(disableAfter.failures);
    await failAt(endpointId, sinceMs, warnAfter.ms);
    await failAt(endpointId, sinceMs, disableAfter.ms);
    await t.rows(`delete from deliveries where endpoint_id = $1 and state = 'scheduled'`, [endpointId]);
    const missed = [event(), event()];
    await t.deliver('billing', missed);
    received.length = 0;
    answerWith(200);
    await t.done(updateEndpoint, { endpointId, url }, merchant);
    await stand.work(catchUpKind);
    await deliver(endpointId);
    while (await untilDue(endpointId)) await deliver(endpointId);
    for (const { id } of missed) expect(received.map(({ headers }) => headers['webhook-id'])).toContain(id);
    expect(new Set((await deliveriesOf(endpointId)).map(({ state }) => state))).toEqual(new Set(['delivered']));
  });
});
