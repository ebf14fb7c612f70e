import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { type Client, orThrow } from '@recur/client';
import { isMany, sized } from '@recur/platform/testing/size';
import { allDelivered, settled } from '../../journeys/oracle.js';
import { newUser } from '../../journeys/shop.js';
import { type Stand, startStand } from '../../journeys/test/stand.js';

jest.setTimeout(sized(600_000, 3_600_000));

let stand: Stand;
beforeAll(async () => {
  stand = await startStand({ gateway: { DEADLINE_FACTOR: '1' } });
});
afterAll(() => stand.close());

/** How an invoice ends after ten days, by the test payment method of its user, and how often it was charged. */
const ends: Record<string, string> = {
  succeeds: 'paid, charged 1',
  declines_softly: 'failed, charged 0',
  declines_hard: 'failed, charged 0',
  needs_action: 'failed, charged 0',
  times_out_after_charging: 'paid, charged 1',
  times_out_before_charging: 'paid, charged 1',
  calls_back_twice: 'paid, charged 1',
  calls_back_late: 'paid, charged 1',
  calls_back_out_of_order: 'paid, charged 1',
  disputed_and_won: 'paid, charged 1',
  disputed_and_lost: 'reversed, charged 1',
};

const WITHIN_MS = 240_000;

async function eventually(is: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + WITHIN_MS;
  while (!(await is()) && Date.now() < deadline) await new Promise(resolve => setTimeout(resolve, 500));
}

const newGateway = async (api: Client): Promise<number> =>
  orThrow(await api.post('/merchant/gateway/setup', { gatewayName: 'sandbox' })).gateway.gatewayId;

/** A draft of a user of its own, whose card has the outcome. Returns its id. */
async function newDraft(api: Client, gatewayId: number, scenario: string): Promise<string> {
  const userId = await newUser(api);
  orThrow(await api.post('/merchant/payment/method/new', { gatewayId, userId, data: { scenario } }));
  const lines = [{ name: 'Setup', quantity: 1, unitAmountExcludingTax: 1999 }];
  const body = { userId, gatewayId, currency: 'EUR', taxPercentage: 0, lines };
  return orThrow(await api.post('/merchant/invoice/new', body)).invoice.invoiceId;
}

async function advance(api: Client, seconds: number): Promise<void> {
  orThrow(await api.post('/merchant/test_clock/advance', { seconds }));
  await eventually(async () => orThrow(await api.get('/merchant/test_clock', {})).status === 'ready');
}

/** How each invoice of a merchant ended. */
const ended = `select i.invoice_id, i.status || ', charged ' || (select count(*) from sandbox_charges c join payments p on p.$m
    and p.payment_id = left(c.idempotency_key, length(p.payment_id)) where c.$m and p.invoice_id = i.invoice_id
    and c.kind = 'charge' and c.state = 'succeeded') as how from invoices i where i.$m and i.kind = 'invoice'`;

it('every outcome of the sandbox, and refunds, with billing killed at each point: one charge, one refund, and all ends', async () => {
  const { api, wire, merchantId } = await stand.shop('Kills');
  const ask = (text: string) => stand.ask('billing', text.replaceAll('$m', `merchant_id = ${merchantId}`));
  const gatewayId = await newGateway(api);
  const drafts = new Map<string, string>();
  for (const scenario of Object.keys(ends)) drafts.set(await newDraft(api, gatewayId, scenario), scenario);
  const finishAll = () =>
    Promise.all(
      [...drafts.keys()].map(invoiceId =>
        // the process may end before its answer is out; what is finished already is refused
        wire.send('/merchant/invoice/finish', { invoiceId, daysUtilDue: 3 }, randomUUID()).catch(() => undefined),
      ),
    );
  await stand.quiet();
  const unanswered: Promise<unknown>[] = [];
  for (const point of ['before-charge', 'after-charge', 'after-commit']) {
    await stand.stack.restart('billing', { CRASH_AT: point });
    unanswered.push(finishAll());
    await stand.stack.ended('billing', WITHIN_MS);
    await stand.endLeases();
  }
  await stand.stack.start('billing');
  await finishAll();
  // outcomes that are not known are asked for after a minute
  await advance(api, 600);
  // all that succeed by themselves
  await eventually(async () => (await ask(`select 1 from invoices where $m and status = 'paid'`)).length === 7);

  const [first] = [...drafts].find(([, scenario]) => scenario === 'succeeds') ?? [''];
  for (const point of ['before-refund', 'after-refund']) {
    await stand.stack.restart('billing', { CRASH_AT: point });
    const refund = { invoiceId: first, refundAmount: 500, reason: point };
    // a refund that waits for its lease does not end the process before the next one is made
    unanswered.push(wire.send('/merchant/invoice/refund', refund, randomUUID()).catch(() => undefined));
    await stand.stack.ended('billing', WITHIN_MS);
  }
  await stand.endLeases();
  await stand.stack.start('billing');
  await Promise.all(unanswered);
  await eventually(async () => (await ask(`select 1 from refunds where $m and status = 'success'`)).length === 2);
  const made = await ask(
    `select r.amount, r.status, (select count(*) from sandbox_charges c where $m and c.idempotency_key = r.refund_id
      and c.state = 'succeeded') as times from refunds r where r.$m`,
  );
  expect(made).toEqual(Array(2).fill({ amount: '500', status: 'success', times: '1' }));

  await advance(api, 10 * 86_400);
  const seen = (await ask(ended)).map(({ invoice_id, how }) => [drafts.get(String(invoice_id)), how]);
  expect(Object.fromEntries(seen)).toEqual(ends);
  expect(await settled(stand.ask, allDelivered)).toEqual([]);
});

/** Points at which a charge can be cut off, and the requests that the gateway has of it by then, where that is certain. */
const points: Record<string, number | undefined> = {
  'before-charge': 0,
  'after-charge': 1,
  'after-commit': undefined,
  'before-publish': undefined,
};
const scenarios = Object.keys(ends);
const cuts = isMany
  ? Object.keys(points).flatMap(point => scenarios.map(scenario => ({ point, scenario })))
  : [
      { point: 'before-charge', scenario: 'times_out_before_charging' },
      { point: 'after-charge', scenario: 'times_out_after_charging' },
    ];
/** Outcomes after which an invoice is paid and can be refunded. */
const refundable = isMany ? scenarios.filter(name => name === 'succeeds' || /^(times_out|calls_back)/.test(name)) : [];
const refundCuts = ['before-refund', 'after-refund'].flatMap(point =>
  refundable.map(scenario => ({ point, scenario })),
);

it(`billing killed at a point of a charge or refund of one outcome (${cuts.length + refundCuts.length}): one charge, one refund, and all ends`, async () => {
  const { api, wire, merchantId } = await stand.shop('Cuts');
  const ask = (text: string) => stand.ask('billing', text.replaceAll('$m', `merchant_id = ${merchantId}`));
  const gatewayId = await newGateway(api);
  /** Lets billing end at a point while it does what is asked for, and starts it again. */
  const cut = async (point: string, path: string, body: object, look: () => Promise<void>) => {
    await stand.quiet();
    await stand.stack.restart('billing', { CRASH_AT: point });
    const sent = wire.send(path, body, randomUUID()).catch(() => undefined);
    await stand.stack.ended('billing', WITHIN_MS);
    await look();
    await stand.endLeases();
    await stand.stack.start('billing');
    await sent;
    await eventually(async () => (await ask(`select 1 from payments where $m and outcome = 'sending'`)).length === 0);
  };
  const drafts = new Map<string, { point: string; scenario: string }>();
  for (const { point, scenario } of cuts) {
    const invoiceId = await newDraft(api, gatewayId, scenario);
    drafts.set(invoiceId, { point, scenario });
    await cut(point, '/merchant/invoice/finish', { invoiceId, daysUtilDue: 3 }, async () => {
      const requests = await ask(
        `select 1 from sandbox_charges c join payments p on p.$m and p.payment_id = left(c.idempotency_key,
          length(p.payment_id)) where c.$m and p.invoice_id = '${invoiceId}'`,
      );
      expect({ point, scenario, requests: points[point] ?? requests.length }).toEqual({
        point,
        scenario,
        requests: requests.length,
      });
    });
    // outcomes that are not known are asked for before the next one, which they would end
    await advance(api, 600);
  }
  // late callbacks have come by then
  await advance(api, 2 * 3600);
  for (const { point, scenario } of refundCuts) {
    const [invoiceId] = [...drafts].find(([, one]) => one.scenario === scenario) ?? [];
    const body = { invoiceId, refundAmount: 500, reason: point };
    await cut(point, '/merchant/invoice/refund', body, async () => undefined);
    await eventually(async () => (await ask(`select 1 from refunds where $m and status = 'created'`)).length === 0);
  }
  const refunds = await ask(
    `select r.invoice_id, r.reason, r.status, (select count(*) from sandbox_charges c where c.$m
      and c.idempotency_key = r.refund_id and c.state = 'succeeded') as times from refunds r where r.$m and r.reason like '%-refund'`,
  );
  const asMade = ({ invoice_id, reason, status, times }: (typeof refunds)[number]) =>
    `${reason} ${drafts.get(String(invoice_id))?.scenario} ${status} ${times}`;
  const wanted = refundCuts.map(({ point, scenario }) => `${point} ${scenario} success 1`);
  expect(refunds.map(asMade).toSorted()).toEqual(wanted.toSorted());

  await advance(api, 10 * 86_400);
  const seen = (await ask(ended)).map(row => {
    const { point, scenario } = drafts.get(String(row.invoice_id)) ?? { point: '', scenario: '' };
    return `${point} ${scenario}: ${row.how}`;
  });
  expect(seen.toSorted()).toEqual(
    cuts.map(({ point, scenario }) => `${point} ${scenario}: ${ends[scenario]}`).toSorted(),
  );
  expect(await settled(stand.ask, allDelivered)).toEqual([]);
});
