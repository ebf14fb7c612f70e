import { afterAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { listEndpoints, rotateSecret, webhookSecret } from '@recur/contracts';
import { Webhook } from 'standardwebhooks';
import { makeStand, of64, type Received } from '../stand.js';

const stand = await makeStand();
const { t, clock, received, merchant, answerWith, until, newOne, event, deliver } = stand;
afterAll(() => stand.close());
beforeEach(() => stand.anew());

const rotate = (endpointId: number) => t.done(rotateSecret, { endpointId }, merchant);
/** One more delivery, as it arrived. */
async function next(endpointId: number): Promise<Received> {
  await t.deliver('billing', [event()]);
  await deliver(endpointId);
  return received.at(-1) as Received;
}
/** Whether the public library takes it, at the moment when it was sent. */
function takes(secret: string, { body, headers }: Received): boolean {
  const now = jest.spyOn(Date, 'now').mockReturnValue(Number(headers['webhook-timestamp']) * 1000);
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  } finally {
    now.mockRestore();
  }
}

describe('a rotation', () => {
  it('has deliveries signed with both secrets for 24 hours, then with the new one alone', async () => {
    const { endpointId, secret: first } = await newOne();
    const { secret: second, formerUntil } = await rotate(endpointId);
    expect(formerUntil - clock.now()).toBe(86_400);
    expect(await t.done(webhookSecret, { endpointId }, merchant)).toEqual({ secret: second });
    clock.advance(86_399);
    const within = await next(endpointId);
    expect(within.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);
    expect([first, second].map(secret => takes(secret, within))).toEqual([true, true]);
    clock.advance(1);
    const after = await next(endpointId);
    expect(after.headers['webhook-signature']).toMatch(/^v1,\S+$/);
    expect([first, second].map(secret => takes(secret, after))).toEqual([false, true]);
  });

  it('is known to a worker that has been at the endpoint all the time', async () => {
    const { endpointId, secret: first } = await newOne();
    let end = () => {};
    answerWith((_, response) => {
      end = () => response.end();
    });
    await t.deliver('billing', [event()]);
    const busy = deliver(endpointId);
    await until(() => received.length === 1);
    answerWith(200);
    const another = async () => {
      const before = received.length;
      await t.deliver('billing', [event()]);
      void deliver(endpointId);
      await until(() => received.length > before);
      return received.at(-1) as Received;
    };
    const { secret: second } = await rotate(endpointId);
    const within = await another();
    expect([first, second].map(secret => takes(secret, within))).toEqual([true, true]);
    const { secret: third } = await rotate(endpointId);
    const again = await another();
    expect([first, second, third].map(secret => takes(secret, again))).toEqual([false, true, true]);
    clock.advance(86_400);
    const after = await another();
    expect([first, second, third].map(secret => takes(secret, after))).toEqual([false, false, true]);
    end();
    await busy;
  });

  it('lets no byte be changed, and no time be off by more than five minutes, whichever secret is known', async () => {
    const { endpointId, secret: first } = await newOne();
    const { secret: second } = await rotate(endpointId);
    const sent = await next(endpointId);
    for (const secret of [first, second]) {
      expect(takes(secret, sent)).toBe(true);
      for (let at = 0; at < sent.body.length; at++) {
        const body =
          sent.body.slice(0, at) + String.fromCharCode(sent.body.charCodeAt(at) ^ 1) + sent.body.slice(at + 1);
        expect(takes(secret, { ...sent, body })).toBe(false);
      }
      const sentAt = Number(sent.headers['webhook-timestamp']);
      for (const [off, taken] of [
        [-301, false],
        [-300, true],
        [300, true],
        [301, false],
      ] as const) {
        const now = jest.spyOn(Date, 'now').mockReturnValue((sentAt + off) * 1000);
        const verify = () => new Webhook(secret).verify(sent.body, sent.headers);
        if (taken) verify();
        else expect(verify).toThrow();
        now.mockRestore();
      }
    }
  });

  it('a second time within the day ends the first secret at once: two signatures at most', async () => {
    const { endpointId, secret: first } = await newOne();
    const { secret: second } = await rotate(endpointId);
    const { secret: third } = await rotate(endpointId);
    const sent = await next(endpointId);
    expect([first, second, third].map(secret => takes(secret, sent))).toEqual([false, true, true]);
  });

  it('is one step of the endpoint with one entry in the log, and a repeat with its key gets the same secret', async () => {
    const { endpointId } = await newOne();
    await t.emitted();
    const caller = { ...merchant, idempotencyKey: 'rotate once' };
    const answers = await of64(() => t.done(rotateSecret, { endpointId }, caller));
    expect(new Set(answers.map(({ secret }) => secret)).size).toBe(1);
    const emitted = await t.emitted();
    expect(emitted.map(({ type, version }) => [type, version])).toEqual([
      ['webhook.endpoint.updated', 2],
      ['operation.logged', 1],
    ]);
    expect(emitted[1]?.data).toMatchObject({ target: `WebhookEndpoint(${endpointId})`, content: 'RotateSecret' });
  });

  it('64 times at once leaves one secret, that of the last, and the one before it', async () => {
    const { endpointId } = await newOne();
    const secrets = (await of64(() => rotate(endpointId))).map(({ secret }) => secret);
    const { secret } = await t.done(webhookSecret, { endpointId }, merchant);
    const sent = await next(endpointId);
    const taken = secrets.filter(one => takes(one, sent));
    expect(taken).toHaveLength(2);
    expect(taken).toContain(secret);
  });

  it.each<[unknown, string]>([
    [undefined, '/endpointId'],
    ['1', '/endpointId'],
    [1.5, '/endpointId'],
  ])('needs to know of which endpoint: not %j', async (endpointId, path) => {
    expect(await t.call(rotateSecret, { endpointId }, merchant)).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path }],
    });
  });

  it("of another merchant's endpoint is one of an unknown endpoint", async () => {
    const { endpointId } = await newOne();
    const before = await t.rows('select endpoints::text as row from endpoints where endpoint_id = $1', [endpointId]);
    const stranger = { merchantId: 99 };
    expect(await t.call(rotateSecret, { endpointId }, stranger)).toEqual(
      await t.call(rotateSecret, { endpointId: 900_000 }, stranger),
    );
    expect(await t.call(rotateSecret, { endpointId }, stranger)).toMatchObject({ slug: 'endpoint_not_found' });
    expect(await t.rows('select endpoints::text as row from endpoints where endpoint_id = $1', [endpointId])).toEqual(
      before,
    );
  });

  it('shows no secret in a list, an event or the database', async () => {
    const { endpointId, secret: first } = await newOne();
    const { secret: second } = await rotate(endpointId);
    await next(endpointId);
    const rows = await t.rows(`select endpoints::text as row from endpoints union all select envelope::text from outbox
      union all select attempts::text from attempts union all select answer from idempotency`);
    const seen = JSON.stringify([rows, await t.done(listEndpoints, {}, merchant)]);
    for (const secret of [first, second]) expect(seen).not.toContain(secret.slice(6));
  });
});
