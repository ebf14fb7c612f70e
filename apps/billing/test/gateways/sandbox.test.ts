import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MovableClock, type TestService, testService } from '@recur/platform/testing';
import type { ChargeRequest, GatewayAccount } from '../../src/gateways/adapters/adapter.js';
import { GatewayAdapters } from '../../src/gateways/adapters/adapters.js';
import { Sandbox } from '../../src/gateways/adapters/sandbox.js';
import { billing } from '../../src/service.js';

const clock = new MovableClock();
let t: TestService;
let sandbox: Sandbox;
let merchants = 500;
beforeAll(async () => {
  t = await testService(billing, { clock });
  sandbox = t.app.get(Sandbox);
});
afterAll(() => t.close());

const accountOf = (): GatewayAccount => ({
  merchantId: ++merchants,
  gatewayId: 7,
  key: '',
  secret: '',
  webhookSecret: '',
});
const request = (gatewayMethodId: string, attempt = 1, over: Partial<ChargeRequest> = {}): ChargeRequest => ({
  idempotencyKey: `pay_1-${attempt}`,
  paymentId: 'pay_1',
  amount: 1200n,
  currency: 'EUR',
  gatewayMethodId,
  gatewayUserId: 'sandbox_user_1',
  offSession: true,
  returnUrl: '',
  manualCapture: false,
  ...over,
});
const ref = (attempt = 1) => ({
  idempotencyKey: `pay_1-${attempt}`,
  reference: '',
  gatewayUserId: '',
  sentAt: clock.now(),
});
const charged = async ({ merchantId }: GatewayAccount) =>
  (await t.rows(`select 1 from sandbox_charges where merchant_id = $1 and state = 'succeeded'`, [merchantId])).length;
/** Delivers the callbacks that are due. */
async function facts(account: GatewayAccount) {
  const due = await sandbox.dueCallbacks(account);
  const all = [];
  for (const { id, headers, body } of due) {
    all.push(...((await sandbox.callback(account, headers, body)) ?? []));
    await sandbox.delivered(account, id);
  }
  return all;
}

describe('the sandbox gateway', () => {
  it('is one of the adapters; a wire transfer has none', () => {
    const adapters = t.app.get(GatewayAdapters);
    expect(adapters.of('sandbox')).toBe(sandbox);
    expect(adapters.of('stripe')?.name).toBe('stripe');
    expect(adapters.of('wire_transfer')).toBeUndefined();
  });

  it.each([
    ['succeeds', { is: 'succeeded' }],
    ['declines_softly', { is: 'declined', kind: 'soft' }],
    ['declines_hard', { is: 'declined', kind: 'hard' }],
    ['needs_action', { is: 'needsAction' }],
  ])('%s', async (method, outcome) => {
    const account = accountOf();
    expect(await sandbox.charge(account, request(method))).toMatchObject(outcome);
    expect(await sandbox.status(account, ref())).toMatchObject(outcome);
  });

  it('charges once under one key, however often it is sent at once', async () => {
    const account = accountOf();
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => sandbox.charge(account, request('succeeds'))));
    expect(new Set(outcomes.map(outcome => outcome.reference)).size).toBe(1);
    expect(await charged(account)).toBe(1);
  });

  it('times out after charging: the status says so, and a repeat charges nothing more', async () => {
    const account = accountOf();
    const method = 'times_out_after_charging';
    expect(await sandbox.charge(account, request(method))).toMatchObject({ is: 'unknown' });
    expect(await sandbox.status(account, ref())).toMatchObject({ is: 'succeeded' });
    await sandbox.charge(account, request(method));
    expect(await charged(account)).toBe(1);
  });

  it.each([1, 2])(
    'times out before charging: absent, and sent again (as attempt %i) it charges once',
    async attempt => {
      const account = accountOf();
      const method = 'times_out_before_charging';
      expect(await sandbox.charge(account, request(method))).toMatchObject({ is: 'unknown' });
      expect(await sandbox.status(account, ref())).toEqual({ is: 'absent' });
      expect(await sandbox.charge(account, request(method, attempt))).toMatchObject({ is: 'succeeded' });
      expect(await charged(account)).toBe(1);
    },
  );

  it('asks the user, and takes the answer', async () => {
    const account = accountOf();
    const asked = await sandbox.charge(account, request('needs_action'));
    expect(asked).toMatchObject({ link: expect.stringContaining(`/sandbox/${asked.reference}`) });
    expect(await sandbox.answer(account, asked.reference, true)).toMatchObject({ is: 'succeeded' });
    expect(await sandbox.answer(account, asked.reference, false)).toMatchObject({ is: 'succeeded' });
    expect(await facts(account)).toMatchObject([{ about: 'charge', outcome: { is: 'succeeded' } }]);
  });

  it('authorises, captures less, and cancels', async () => {
    const account = accountOf();
    const manual = { manualCapture: true };
    const { reference, ...authorised } = await sandbox.charge(account, request('succeeds', 1, manual));
    expect(authorised).toEqual({ is: 'authorised', amount: 1200n, currency: 'EUR' });
    const received = { is: 'succeeded', reference, amount: 700n, currency: 'EUR' };
    const capture = { idempotencyKey: 'c', reference, amount: 700n, currency: 'EUR' };
    expect(await sandbox.capture(account, capture)).toEqual(received);
    expect(await sandbox.cancel(account, reference)).toEqual(received);
    const other = await sandbox.charge(account, request('succeeds', 2, manual));
    expect(await sandbox.cancel(account, other.reference)).toMatchObject({ is: 'cancelled' });
  });

  it('refunds up to what was charged, once under one key', async () => {
    const account = accountOf();
    const { reference } = await sandbox.charge(account, request('succeeds'));
    const refund = (idempotencyKey: string, amount: bigint) =>
      sandbox.refund(account, { idempotencyKey, refundId: 're_1', reference, amount, currency: 'EUR' });
    const first = await refund('re_1-1', 1000n);
    expect(first).toMatchObject({ is: 'succeeded' });
    expect(await refund('re_1-1', 1000n)).toEqual(first);
    expect(await refund('re_2-1', 300n)).toMatchObject({ is: 'declined', kind: 'hard' });
    expect(await refund('re_3-1', 200n)).toMatchObject({ is: 'succeeded' });
  });
});

describe('its callbacks', () => {
  it('come twice with one id', async () => {
    const account = accountOf();
    await sandbox.charge(account, request('calls_back_twice'));
    const [first, second, ...more] = await facts(account);
    expect(first).toMatchObject({ about: 'charge', idempotencyKey: 'pay_1-1', outcome: { is: 'succeeded' } });
    expect(second).toEqual(first);
    expect(more).toEqual([]);
    expect(await facts(account)).toEqual([]);
  });

  it('come late: the outcome is unknown until then', async () => {
    const account = accountOf();
    expect(await sandbox.charge(account, request('calls_back_late'))).toMatchObject({ is: 'unknown' });
    expect([await sandbox.status(account, ref()), await facts(account)]).toMatchObject([{ is: 'unknown' }, []]);
    clock.advance(3_600);
    expect(await facts(account)).toMatchObject([{ outcome: { is: 'succeeded' } }]);
    expect(await sandbox.status(account, ref())).toMatchObject({ is: 'succeeded' });
  });

  it('come out of order', async () => {
    const account = accountOf();
    await sandbox.charge(account, request('calls_back_out_of_order'));
    expect((await facts(account)).map(fact => 'outcome' in fact && fact.outcome.is)).toEqual(['succeeded', 'unknown']);
  });

  it.each(['won', 'lost'])('report a dispute that is %s', async end => {
    const account = accountOf();
    await sandbox.charge(account, request(`disputed_and_${end}`));
    await facts(account);
    clock.advance(8 * 86_400);
    expect(await facts(account)).toMatchObject([
      { about: 'dispute', state: 'open', amount: 1200n },
      { about: 'dispute', state: end, amount: 1200n },
    ]);
  });

  it('are refused with a wrong signature', async () => {
    const account = accountOf();
    await sandbox.charge(account, request('succeeds'));
    const [due] = await sandbox.dueCallbacks(account);
    expect(await sandbox.callback(account, {}, due?.body ?? Buffer.alloc(0))).toBeUndefined();
    expect(await sandbox.callback(account, due?.headers ?? {}, Buffer.from('{}'))).toBeUndefined();
  });
});
