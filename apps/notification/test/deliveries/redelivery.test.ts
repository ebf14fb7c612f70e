import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { events, listEndpointLogs, resendWebhook, testEvent, webhookEventNames } from '@recur/contracts';
import { makeStand, of64, type Received } from '../stand.js';

const stand = await makeStand();
const { t, clock, received, merchant, answerWith, newOne, event, deliver, deliveriesOf } = stand;
afterAll(() => stand.close());
beforeEach(() => stand.anew());

const logOf = async (endpointId: number) =>
  (await t.done(listEndpointLogs, { endpointId, count: 100 }, merchant)).endpointLogList;
/** An endpoint with one delivery that was answered as told, and the id of its entry in the log. */
async function sent(status: number) {
  const { endpointId } = await newOne();
  answerWith(status);
  await t.deliver('billing', [event()]);
  await deliver(endpointId);
  const [entry] = await logOf(endpointId);
  await t.emitted();
  return { endpointId, logId: entry?.id ?? 0 };
}
const resend = (logId: number) => t.done(resendWebhook, { logId }, merchant);
const disable = (endpointId: number) =>
  t.rows(`update endpoints set state = 'disabled' where endpoint_id = $1`, [endpointId]);

describe('webhook/resend', () => {
  it.each([200, 503])(
    'sends what was answered %i again: the same id and body, and a signature of now',
    async status => {
      const { endpointId, logId } = await sent(status);
      answerWith(200);
      clock.advance(2);
      expect(await resend(logId)).toEqual({ sendResult: true });
      await deliver(endpointId);
      const [first, again] = received as [Received, Received];
      expect(received).toHaveLength(2);
      expect([again.body, again.headers['webhook-id']]).toEqual([first.body, first.headers['webhook-id']]);
      expect(again.headers['webhook-timestamp']).not.toBe(first.headers['webhook-timestamp']);
      expect(await deliveriesOf(endpointId)).toMatchObject([{ state: 'delivered', attempts: 1 }]);
      expect((await t.emitted()).map(({ data }) => data)).toMatchObject([
        { target: `WebhookEndpoint(${endpointId})`, content: `Resend ${first.headers['webhook-id']}` },
      ]);
    },
  );

  it('has all ten attempts again', async () => {
    const { endpointId, logId } = await sent(503);
    for (let attempt = 2; attempt <= 10; attempt++) {
      await stand.untilDue(endpointId);
      await deliver(endpointId);
    }
    expect(await deliveriesOf(endpointId)).toMatchObject([{ state: 'failed', attempts: 10 }]);
    await resend(logId);
    await deliver(endpointId);
    expect(await deliveriesOf(endpointId)).toMatchObject([{ state: 'scheduled', attempts: 1 }]);
  });

  it('64 times at once sends it once', async () => {
    const { endpointId, logId } = await sent(200);
    await of64(() => resend(logId));
    await deliver(endpointId);
    expect(received).toHaveLength(2);
    expect(await t.rows('select 1 from due where endpoint_id = $1', [endpointId])).toEqual([]);
  });

  it('is refused for an endpoint that is disabled, and for an event that is not kept any more', async () => {
    const { endpointId, logId } = await sent(200);
    await t.rows('delete from events where merchant_id = $1', [merchant.merchantId]);
    expect(await t.call(resendWebhook, { logId }, merchant)).toMatchObject({ slug: 'event_not_kept' });
    await disable(endpointId);
    expect(await t.call(resendWebhook, { logId }, merchant)).toMatchObject({ slug: 'endpoint_disabled' });
    expect(await t.emitted()).toEqual([]);
  });

  it("of another merchant's entry is that of an unknown one", async () => {
    const { endpointId, logId } = await sent(200);
    const stranger = { merchantId: 99 };
    const refusal = await t.call(resendWebhook, { logId }, stranger);
    expect(refusal).toMatchObject({ slug: 'log_not_found' });
    expect(refusal).toEqual(await t.call(resendWebhook, { logId: 900_000 }, stranger));
    await deliver(endpointId);
    expect(received).toHaveLength(1);
  });

  it.each([undefined, 'one', 0.5, null])('needs an entry: not %j', async logId => {
    expect(await t.call(resendWebhook, { logId }, merchant)).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path: '/logId' }],
    });
  });
});

describe('webhook/test_event', () => {
  const test = (endpointId: number, event = 'invoice.paid') => t.call(testEvent, { endpointId, event }, merchant);

  it.each(webhookEventNames)('sends an example of %s, marked, to an endpoint that did not subscribe', async type => {
    const { endpointId } = await newOne({ events: [] });
    const other = await newOne({ events: [type] });
    await t.emitted();
    const { eventId } = await t.done(testEvent, { endpointId, event: type }, merchant);
    await deliver(endpointId);
    await deliver(other.endpointId);
    expect(received).toHaveLength(1);
    const { headers, body } = received[0] as Received;
    const { data, ...rest } = JSON.parse(body);
    expect(rest).toEqual({
      type,
      timestamp: new Date(clock.now() * 1000).toISOString(),
      merchantId: merchant.merchantId,
      sequence: 0,
      test: true,
    });
    events[type as keyof typeof events].data.parse(data);
    expect(headers['webhook-id']).toBe(eventId);
    expect((await t.emitted()).map(({ data }) => data)).toMatchObject([
      { target: `WebhookEndpoint(${endpointId})`, content: `TestEvent ${type}` },
    ]);
    expect(await logOf(endpointId)).toMatchObject([{ requestId: eventId, webhookEvent: type, httpStatus: 200 }]);
  });

  it('is tried again like every delivery', async () => {
    const { endpointId } = await newOne();
    answerWith(503);
    await test(endpointId);
    await deliver(endpointId);
    expect(await deliveriesOf(endpointId)).toMatchObject([{ state: 'scheduled', attempts: 1 }]);
  });

  it.each<[object, string]>([
    [{ endpointId: undefined }, '/endpointId'],
    [{ endpointId: '7' }, '/endpointId'],
    [{ event: undefined }, '/event'],
    [{ event: 'invoice.eaten' }, '/event'],
    [{ event: 'subscription.tracked' }, '/event'],
  ])('refuses %j', async (over, path) => {
    const { endpointId } = await newOne();
    const result = await t.call(testEvent, { endpointId, event: 'invoice.paid', ...over }, merchant);
    expect(result).toMatchObject({ slug: 'invalid_parameters', issues: [{ path }] });
  });

  it('needs an endpoint of its own that is in service', async () => {
    const { endpointId } = await newOne();
    const stranger = { merchantId: 99 };
    const input = { event: 'invoice.paid' };
    const refusal = await t.call(testEvent, { endpointId, ...input }, stranger);
    expect(refusal).toMatchObject({ slug: 'endpoint_not_found' });
    expect(refusal).toEqual(await t.call(testEvent, { endpointId: 900_000, ...input }, stranger));
    await disable(endpointId);
    expect(await test(endpointId)).toMatchObject({ slug: 'endpoint_disabled' });
    expect(await deliveriesOf(endpointId)).toEqual([]);
  });
});

describe('the log of an endpoint', () => {
  it('has the headers that were sent, but for the signature, and the status that came', async () => {
    const { endpointId } = await sent(503);
    const [{ headers } = { headers: {} }] = received as [Received];
    const [entry] = await logOf(endpointId);
    expect(entry?.httpStatus).toBe(503);
    const { 'webhook-signature': signature, ...rest } = headers as Record<string, string>;
    expect(signature).toMatch(/^v1,/);
    expect(entry?.requestHeaders).toEqual(
      Object.fromEntries(
        Object.entries(rest).filter(
          ([name]) => name.startsWith('webhook-') || ['content-type', 'user-agent'].includes(name),
        ),
      ),
    );
    expect(JSON.stringify(entry)).not.toContain(signature);
  });

  it('says 0 where no answer came', async () => {
    const { endpointId } = await newOne({ url: 'http://127.0.0.1:9/' });
    await t.deliver('billing', [event()]);
    await deliver(endpointId);
    expect(await logOf(endpointId)).toMatchObject([{ httpStatus: 0, response: '' }]);
  });

  it('can be narrowed to a time range, both ends included', async () => {
    const { endpointId } = await newOne();
    const times: number[] = [];
    for (let round = 0; round < 3; round++) {
      await t.deliver('billing', [event()]);
      await deliver(endpointId);
      times.push(clock.now());
      clock.advance(10);
    }
    const [first = 0, second = 0, third = 0] = times;
    const within = async (createTimeStart?: number, createTimeEnd?: number) => {
      const asked = { endpointId, createTimeStart, createTimeEnd };
      const { endpointLogList, total } = await t.done(listEndpointLogs, asked, merchant);
      expect(total).toBe(endpointLogList.length);
      return endpointLogList.map(({ createTime }) => createTime);
    };
    expect(await within()).toEqual([third, second, first]);
    expect(await within(second)).toEqual([third, second]);
    expect(await within(undefined, second)).toEqual([second, first]);
    expect(await within(second, second)).toEqual([second]);
    expect(await within(third + 1)).toEqual([]);
  });
});
