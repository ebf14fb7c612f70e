import type { ServerResponse } from 'node:http';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  listEndpointLogs,
  replayDetail,
  replayStatus,
  replayWebhooks,
  resendWebhook,
  testEvent,
  updateEndpoint,
} from '@recur/contracts';
import { catchUpKind } from '../../src/deliveries/catch-ups.js';
import { makeStand } from '../stand.js';

const stand = await makeStand();
const another = await stand.anotherWorker();
const { t, clock, url, received, merchant, answerWith, newOne, event, deliver, deliveriesOf, until, untilDue } = stand;
/** Runs rounds until each replay waits for its endpoint, or is over. */
const sweepReplays = () => stand.work('webhook.replay');
afterAll(() => stand.close());
beforeEach(() => stand.anew());

const objects = ['in_a', 'in_b'];
/** The step of each object that has this version, made a second after those before. */
function steps(version: number) {
  clock.advance(1);
  return objects.map(aggregateId => event({ aggregateId, version, data: { invoiceId: aggregateId, lines: [] } }));
}
/** An ordered endpoint, to which the versions up to one were delivered, unless they are answered otherwise. */
async function ordered(versions: number, status = 200) {
  const { endpointId } = await newOne({ ordered: true });
  answerWith(status);
  for (let version = 1; version <= versions; version++) await t.deliver('billing', steps(version));
  await deliver(endpointId);
  return endpointId;
}
const sequences = (object: string) =>
  received
    .map(({ body }) => JSON.parse(body))
    .flatMap(({ data, sequence }) => (data.invoiceId === object ? [sequence] : []));
const logIdOf = async (endpointId: number, object: string, sequence: number) => {
  const { endpointLogList } = await t.done(listEndpointLogs, { endpointId, count: 100 }, merchant);
  const entry = endpointLogList.find(({ body }) => {
    const sent = JSON.parse(body);
    return sent.data.invoiceId === object && sent.sequence === sequence;
  });
  return entry?.id ?? 0;
};
const replay = (endpointId: number, deliveredToo: boolean, dryRun = false) =>
  t.done(replayWebhooks, { endpointId, createTimeStart: 0, deliveredToo, dryRun }, merchant);
/** Lets one request come in, does something, and answers it then. */
async function meanwhile(endpointId: number, status: number, something: () => Promise<unknown>) {
  const held: ServerResponse[] = [];
  const before = received.length;
  answerWith((_, response) => held.push(response));
  const delivering = deliver(endpointId);
  await until(() => received.length > before);
  try {
    await something();
  } finally {
    answerWith(200);
    for (const response of held) response.writeHead(status).end();
    await delivering;
  }
}
const resend = async (endpointId: number, object: string, sequence: number) =>
  t.done(resendWebhook, { logId: await logIdOf(endpointId, object, sequence) }, merchant);
const detail = async (replayId: string) => (await t.done(replayDetail, { replayId }, merchant)).replay;
const due = (endpointId: number) => t.rows('select subject, held from due where endpoint_id = $1', [endpointId]);

describe('what is sent again to an endpoint that wants events in order', () => {
  it('by a replay comes in order, and before what is to be tried again', async () => {
    const endpointId = await ordered(4);
    answerWith(503);
    await t.deliver('billing', steps(5));
    await deliver(endpointId);
    received.length = 0;
    answerWith(200);
    await replay(endpointId, true);
    await sweepReplays();
    // version 5 would be due by now
    clock.advance(60);
    await deliver(endpointId);
    for (const object of objects) expect(sequences(object)).toEqual([1, 2, 3, 4, 5]);
    expect(await due(endpointId)).toEqual([]);
  });

  it('by a resend goes before what is to be tried again, which keeps its time', async () => {
    const endpointId = await ordered(1);
    answerWith(503);
    await t.deliver('billing', steps(2));
    await deliver(endpointId);
    received.length = 0;
    await t.done(resendWebhook, { logId: await logIdOf(endpointId, 'in_a', 1) }, merchant);
    await deliver(endpointId);
    clock.advance(3);
    await deliver(endpointId);
    expect(sequences('in_a')).toEqual([1]);
    answerWith(200);
    while (await untilDue(endpointId)) await deliver(endpointId);
    expect(sequences('in_a')).toEqual([1, 1, 2]);
    expect(sequences('in_b')).toEqual([2]);
  });

  it('waits, where one before it is still to be delivered', async () => {
    const endpointId = await ordered(2);
    answerWith(503);
    received.length = 0;
    for (const sequence of [1, 2]) {
      await t.done(resendWebhook, { logId: await logIdOf(endpointId, 'in_a', sequence) }, merchant);
      await deliver(endpointId);
    }
    expect(sequences('in_a')).toEqual([1]);
    answerWith(200);
    while (await untilDue(endpointId)) await deliver(endpointId);
    expect(sequences('in_a')).toEqual([1, 1, 2]);
  });

  it('64 times at once comes once, and in order', async () => {
    const endpointId = await ordered(3);
    received.length = 0;
    const logIds = await Promise.all([3, 1, 2].map(sequence => logIdOf(endpointId, 'in_a', sequence)));
    const wishes = Array.from({ length: 64 }, (_, at) => logIds[at % 3] ?? 0);
    await Promise.all(wishes.map(logId => t.done(resendWebhook, { logId }, merchant)));
    await deliver(endpointId);
    expect(sequences('in_a')).toEqual([1, 2, 3]);
  });

  it.each([200, 503])(
    'waits for a higher version that is under way, and goes before its next attempt (%i)',
    async status => {
      const endpointId = await ordered(1);
      received.length = 0;
      await t.deliver('billing', steps(2).slice(0, 1));
      await meanwhile(endpointId, status, async () => {
        await resend(endpointId, 'in_a', 1);
        await another.deliver(merchant.merchantId, endpointId);
        expect(sequences('in_a')).toEqual([2]);
      });
      expect(sequences('in_a')).toEqual([2, 1]);
      while (await untilDue(endpointId)) await deliver(endpointId);
      expect(sequences('in_a')).toEqual(status === 200 ? [2, 1] : [2, 1, 2]);
      expect(await due(endpointId)).toEqual([]);
    },
  );

  it('as an example waits for nothing, also when it is resent', async () => {
    const endpointId = await ordered(1, 503);
    answerWith(200);
    received.length = 0;
    const { eventId } = await t.done(testEvent, { endpointId, event: 'invoice.paid' }, merchant);
    await deliver(endpointId);
    const { endpointLogList } = await t.done(listEndpointLogs, { endpointId }, merchant);
    const logId = endpointLogList.find(({ requestId }) => requestId === eventId)?.id ?? 0;
    await t.done(resendWebhook, { logId }, merchant);
    await deliver(endpointId);
    expect(received.map(({ headers }) => headers['webhook-id'])).toEqual([eventId, eventId]);
  });
});

describe('what is sent again while its attempt is under way', () => {
  it.each([1, 9])('has all its attempts, where %i of them had failed and this one does too', async failed => {
    const { endpointId } = await newOne();
    answerWith(503);
    await t.deliver('billing', [event({ aggregateId: 'in_a', data: { invoiceId: 'in_a', lines: [] } })]);
    for (let times = 0; times < failed; times++) {
      await deliver(endpointId);
      await untilDue(endpointId);
    }
    await meanwhile(endpointId, 503, () => resend(endpointId, 'in_a', 1));
    expect(await deliveriesOf(endpointId)).toMatchObject([{ state: 'scheduled', attempts: 1 }]);
    answerWith(503);
    received.length = 0;
    while (await untilDue(endpointId)) await deliver(endpointId);
    expect(received).toHaveLength(9);
    expect(await deliveriesOf(endpointId)).toMatchObject([{ state: 'failed', attempts: 10 }]);
  });
});

describe('while an endpoint catches up', () => {
  /** It was delivered version 1, answered 410 to version 2, and missed version 3 altogether. */
  async function behind() {
    const endpointId = await ordered(1);
    answerWith(410);
    await t.deliver('billing', steps(2));
    await deliver(endpointId);
    await t.deliver('billing', steps(3));
    await deliver(endpointId);
    expect((await deliveriesOf(endpointId)).filter(({ state }) => state === 'missed')).toHaveLength(4);
    await t.done(updateEndpoint, { endpointId, url }, merchant);
    received.length = 0;
    answerWith(200);
    return endpointId;
  }

  it('a replay waits, and counts only what would not come anyhow', async () => {
    const endpointId = await behind();
    expect((await replay(endpointId, false, true)).count).toBe(0);
    const { replayId, count } = await replay(endpointId, true);
    expect(count).toBe(2);
    await sweepReplays();
    expect(await due(endpointId)).toEqual([]);
    expect(await detail(replayId)).toMatchObject({ status: replayStatus.running, scheduled: 0 });
    await stand.work(catchUpKind);
    await sweepReplays();
    expect(await detail(replayId)).toMatchObject({ status: replayStatus.finished, scheduled: 2 });
    await deliver(endpointId);
    for (const object of objects) expect(sequences(object)).toEqual([1, 2, 3]);
  });

  it('a replay leaves alone what came through before its turn', async () => {
    const endpointId = await behind();
    const { replayId, count } = await replay(endpointId, true);
    await stand.work(catchUpKind);
    await deliver(endpointId);
    for (const object of objects) expect(sequences(object)).toEqual([2, 3]);
    received.length = 0;
    await sweepReplays();
    await deliver(endpointId);
    for (const object of objects) expect(sequences(object)).toEqual([1]);
    expect(await detail(replayId)).toMatchObject({ status: replayStatus.finished, total: count, scheduled: count });
    expect((await replay(endpointId, true, true)).count).toBe(6);
  });

  it('a resend of what it missed leaves that in its place', async () => {
    const endpointId = await behind();
    const logId = await logIdOf(endpointId, 'in_a', 2);
    expect(await t.done(resendWebhook, { logId }, merchant)).toEqual({ sendResult: true });
    expect(await due(endpointId)).toEqual([]);
    await stand.work(catchUpKind);
    await deliver(endpointId);
    for (const object of objects) expect(sequences(object)).toEqual([2, 3]);
  });
});
