import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { updateEndpoint } from '@recur/contracts';
import { catchUpKind } from '../../src/deliveries/catch-ups.js';
import { DeliveryWaker } from '../../src/deliveries/sending/delivery-waker.js';
import { makeStand } from '../stand.js';

const stand = await makeStand();
const { t, url, received, merchant, answerWith, newOne, event, deliver, deliveriesOf } = stand;
afterAll(() => stand.close());
beforeEach(() => stand.anew());

const round = () => stand.work(catchUpKind);
const enable = (endpointId: number) => t.done(updateEndpoint, { endpointId, url }, merchant);
const states = async (endpointId: number) => {
  const counts: Record<string, number> = {};
  for (const { state } of await deliveriesOf(endpointId)) counts[String(state)] = (counts[String(state)] ?? 0) + 1;
  return counts;
};
const ids = () => received.map(({ headers }) => headers['webhook-id']);
const behind = async () => (await t.rows('select endpoint_id::integer from catch_ups')).map(row => row.endpoint_id);

/** An endpoint that answered 410 once, and has missed `count` events in all; nothing of that is in `received`. */
async function disabled(count: number) {
  const { endpointId } = await newOne();
  const events = Array.from({ length: count }, () => event());
  answerWith(410);
  await t.deliver('billing', events.slice(0, 1));
  await deliver(endpointId);
  await t.deliver('billing', events.slice(1));
  await deliver(endpointId);
  expect(await states(endpointId)).toEqual({ missed: count });
  received.length = 0;
  answerWith(200);
  return { endpointId, events };
}

describe('an endpoint that is enabled again', () => {
  it('is sent exactly what it missed, under the same ids, and what happens from then on', async () => {
    const other = await newOne();
    const { endpointId, events } = await disabled(20);
    await enable(endpointId);
    const later = event();
    await t.deliver('billing', [later]);
    await round();
    await deliver(endpointId);
    expect(ids().sort()).toEqual([...events, later].map(({ id }) => id).sort());
    expect(await states(endpointId)).toEqual({ delivered: 21 });
    expect(await behind()).toEqual([]);
    expect(await states(other.endpointId)).toEqual({ scheduled: 21 });
  });

  it('is sent it in rounds, with no more than 500 scheduled at a time', async () => {
    const { endpointId } = await disabled(3);
    const missed = `insert into deliveries (merchant_id, delivery_id, endpoint_id, event_id, state, attempts, create_time,
        last_outcome, last_answer)
      select merchant_id, delivery_id || n, endpoint_id, event_id || n, 'missed', 0, create_time, '', ''
      from generate_series(1, 700) n, (select * from deliveries where endpoint_id = $1 order by delivery_id limit 1) d`;
    await t.rows(missed, [endpointId]);
    await t.rows(
      `insert into events (merchant_id, event_id, type, at, body)
       select merchant_id, event_id, 'invoice.created', 0, '{}' from deliveries where endpoint_id = $1
       on conflict do nothing`,
      [endpointId],
    );
    await enable(endpointId);
    await round();
    expect(await states(endpointId)).toEqual({ scheduled: 500, missed: 203 });
    await round();
    expect(await states(endpointId)).toEqual({ scheduled: 500, missed: 203 });
    await deliver(endpointId);
    await round();
    await deliver(endpointId);
    expect(await states(endpointId)).toEqual({ delivered: 703 });
    expect(new Set(ids()).size).toBe(703);
    expect(ids()).toHaveLength(703);
    expect(await behind()).toEqual([]);
  });

  it('64 times at once gets it once', async () => {
    const { endpointId } = await disabled(5);
    await Promise.all(Array.from({ length: 64 }, () => enable(endpointId)));
    await Promise.all([round(), round(), round()]);
    await deliver(endpointId);
    expect(ids()).toHaveLength(5);
    expect(await states(endpointId)).toEqual({ delivered: 5 });
  });

  it('misses nothing that is taken in at that very moment', async () => {
    const { endpointId } = await disabled(1);
    const batches = Array.from({ length: 16 }, () => [event(), event()]);
    await Promise.all([...batches.map(batch => t.deliver('billing', batch)), enable(endpointId), round(), round()]);
    await round();
    await deliver(endpointId);
    expect(await states(endpointId)).toEqual({ delivered: 33 });
  });

  it('by a replica of the previous version, which schedules no work, is sent it too', async () => {
    const { endpointId } = await disabled(2);
    await t.rows(`update endpoints set state = 'enabled' where endpoint_id = $1`, [endpointId]);
    await t.rows('insert into catch_ups values ($1, $2)', [endpointId, merchant.merchantId]);
    await round();
    await deliver(endpointId);
    expect(await states(endpointId)).toEqual({ delivered: 2 });
    expect(await t.rows('select * from due_work')).toEqual([]);
  });

  it('and disabled before it has caught up misses the rest again, until the next time', async () => {
    const { endpointId } = await disabled(5);
    await enable(endpointId);
    await t.rows(`update endpoints set state = 'disabled' where endpoint_id = $1`, [endpointId]);
    await round();
    expect(await states(endpointId)).toEqual({ missed: 5 });
    expect(await behind()).toEqual([]);
    await enable(endpointId);
    await round();
    await deliver(endpointId);
    expect(await states(endpointId)).toEqual({ delivered: 5 });
  });

  it('has all ten attempts again', async () => {
    const { endpointId } = await disabled(1);
    await enable(endpointId);
    await round();
    answerWith(503);
    do await deliver(endpointId);
    while (await stand.untilDue(endpointId));
    expect(received).toHaveLength(10);
    expect(await deliveriesOf(endpointId)).toMatchObject([{ state: 'failed', attempts: 10 }]);
  });

  it('is sent what it missed by a running service', async () => {
    const { endpointId, events } = await disabled(2);
    const sent = () => events.filter(({ id }) => ids().includes(id));
    const waker = t.app.get(DeliveryWaker);
    waker.start();
    t.work.start();
    try {
      await enable(endpointId);
      await stand.until(() => sent().length === events.length);
    } finally {
      await t.work.stop();
      // the last test: what is stopped does not start again
      await waker.stop();
    }
    expect(await states(endpointId)).toEqual({ delivered: 2 });
  });
});
