import { describe, expect, it } from '@jest/globals';
import { memoryOrder, type Receipt, type WebhookOrder, webhookReceiver } from '../src/index.js';
import { delivery, secret } from './signed.js';

const secrets = [secret];
const sent = (type: string, sequence: number, invoiceId = 'in_1', more: object = {}) =>
  delivery({ id: `ev_${type}_${invoiceId}_${sequence}`, type, sequence, data: { invoiceId }, ...more });
const paid = (sequence: number, invoiceId?: string, more?: object) => sent('invoice.paid', sequence, invoiceId, more);
const outcomes = (receipts: readonly Receipt[]) => receipts.map(({ status, outcome }) => `${status} ${outcome}`);

/** A receiver that writes down what its handlers see. */
function seeing() {
  const seen: string[] = [];
  const receive = webhookReceiver({
    secrets,
    on: {
      'invoice.paid': ({ data, sequence }) => void seen.push(`paid: ${data.invoiceId} ${sequence}`),
      'payment.success': ({ data }) => void seen.push(data.paymentId),
    },
    latest: { invoice: ({ type, data, sequence }) => void seen.push(`${type} ${data.invoiceId} ${sequence}`) },
  });
  return { seen, receive };
}

describe('a receiver of webhooks', () => {
  it('tells what happened once, in whatever order it comes', async () => {
    const seen: number[] = [];
    const receive = webhookReceiver({ secrets, on: { 'invoice.paid': ({ sequence }) => void seen.push(sequence) } });
    const receipts: Receipt[] = [];
    for (const sequence of [1, 1, 3, 2, 3, 2]) receipts.push(await receive(paid(sequence)));
    expect(outcomes(receipts)).toEqual([
      '204 handled',
      '204 stale',
      '204 handled',
      '204 handled',
      '204 stale',
      '204 stale',
    ]);
    expect(seen).toEqual([1, 3, 2]);
  });

  it('tells the latest of an object forwards, whatever the names of its events are', async () => {
    const { seen, receive } = seeing();
    const receipts: Receipt[] = [];
    for (const each of [
      sent('invoice.created', 1),
      sent('invoice.reversed', 3),
      sent('invoice.process', 2),
      sent('invoice.created', 1, 'in_2'),
      sent('invoice.reversed', 3),
    ])
      receipts.push(await receive(each));
    expect(outcomes(receipts)).toEqual(['204 handled', '204 handled', '204 stale', '204 handled', '204 stale']);
    expect(seen).toEqual(['invoice.created in_1 1', 'invoice.reversed in_1 3', 'invoice.created in_2 1']);
  });

  it('tells that an invoice was paid though what came after that has arrived before', async () => {
    const { seen, receive } = seeing();
    expect(outcomes([await receive(sent('invoice.reversed', 3)), await receive(paid(2))])).toEqual([
      '204 handled',
      '204 handled',
    ]);
    expect(seen).toEqual(['invoice.reversed in_1 3', 'paid: in_1 2']);
  });

  it('handles events of one object one after another, and of others meanwhile', async () => {
    const log: string[] = [];
    const release = new Map<string, () => void>();
    const begun = new Map<string, () => void>();
    const hasBegun = (what: string) => new Promise<void>(done => begun.set(what, done));
    const receive = webhookReceiver({
      secrets,
      latest: {
        invoice: async ({ data, sequence }) => {
          const what = `${data.invoiceId} ${sequence}`;
          log.push(`begin ${what}`);
          const released = new Promise<void>(done => release.set(what, done));
          begun.get(what)?.();
          await released;
          log.push(`end ${what}`);
        },
      },
    });
    const [first, second, other] = ['in_1 1', 'in_1 2', 'in_2 1'].map(hasBegun);
    const all = [receive(paid(1)), receive(paid(1, 'in_2'))];
    await Promise.all([first, other]);
    // only now, since two deliveries may be verified in any order
    all.push(receive(paid(2)));
    expect([...log].sort()).toEqual(['begin in_1 1', 'begin in_2 1']);
    release.get('in_1 1')?.();
    await second;
    expect(log.slice(2)).toEqual(['end in_1 1', 'begin in_1 2']);
    for (const what of ['in_1 2', 'in_2 1']) release.get(what)?.();
    expect(outcomes(await Promise.all(all))).toEqual(['204 handled', '204 handled', '204 handled']);
  });

  it('has recur try again when a handler threw, and then does what is left', async () => {
    const seen: string[] = [];
    let fails = true;
    const receive = webhookReceiver({
      secrets,
      latest: { invoice: ({ sequence }) => void seen.push(`state ${sequence}`) },
      on: {
        'invoice.paid': ({ sequence }) => {
          if (fails) throw new Error('no mail server');
          seen.push(`mail ${sequence}`);
        },
      },
    });
    expect(await receive(paid(2))).toEqual({ status: 500, outcome: 'failed', error: new Error('no mail server') });
    fails = false;
    expect(outcomes([await receive(paid(2)), await receive(paid(2))])).toEqual(['204 handled', '204 stale']);
    expect(seen).toEqual(['state 2', 'mail 2']);
  });

  it('has recur try again when a handler takes too long, which is not begun anew beside itself', async () => {
    const seen: string[] = [];
    let release: () => void = () => undefined;
    const receive = webhookReceiver({
      secrets,
      timeoutMs: 20,
      on: {
        'invoice.paid': async ({ sequence }) => {
          seen.push(`begin ${sequence}`);
          await new Promise<void>(done => {
            release = done;
          });
          seen.push(`end ${sequence}`);
        },
      },
    });
    const error = new Error('not handled within 20 ms');
    expect(await receive(paid(1))).toEqual({ status: 500, outcome: 'failed', error });
    expect(await receive(paid(1))).toEqual({ status: 500, outcome: 'failed', error });
    release();
    expect(await receive(paid(1))).toEqual({ status: 204, outcome: 'stale' });
    expect(seen).toEqual(['begin 1', 'end 1']);
  });

  it('refuses what is not signed, and is not interested in what has no handler', async () => {
    const { seen, receive } = seeing();
    const { body, headers } = paid(1);
    expect(await receive({ body: `${body} `, headers })).toEqual({ status: 400, outcome: 'signature_wrong' });
    expect(await receive({ body, headers: {} })).toEqual({ status: 400, outcome: 'headers_missing' });
    const data = { refundId: 're_1' };
    const refund = delivery({ id: 'ev_9', type: 'refund.success', sequence: 9, data });
    expect(await receive(refund)).toEqual({ status: 204, outcome: 'ignored' });
    expect(await webhookReceiver({ secrets })(paid(1))).toEqual({ status: 204, outcome: 'ignored' });
    expect(seen).toEqual([]);
  });

  it('has no secret that is none, and takes those of the time of a delivery', async () => {
    for (const wrong of [[], [''], ['whsec_'], [secret, 'whsec_%']])
      expect(() => webhookReceiver({ secrets: wrong })).toThrow(TypeError);
    let current: string[] = [];
    const receive = webhookReceiver({ secrets: () => current, on: { 'invoice.paid': () => undefined } });
    expect(await receive(paid(1))).toMatchObject({ status: 500, error: expect.any(TypeError) });
    current = [secret];
    expect(await receive(paid(1))).toMatchObject({ status: 204 });
  });

  it('hands names without a handler to the default one, also those that it does not know, each once', async () => {
    const seen: string[] = [];
    const receive = webhookReceiver({
      secrets,
      on: { default: ({ type, sequence }) => void seen.push(`${type} ${sequence}`) },
    });
    for (const each of [
      sent('invoice.eaten', 5),
      sent('invoice.eaten', 4),
      sent('invoice.eaten', 5),
      sent('constructor', 1),
      paid(2),
      paid(1),
    ])
      await receive(each);
    expect(seen).toEqual(['invoice.eaten 5', 'invoice.eaten 4', 'constructor 1', 'invoice.paid 2', 'invoice.paid 1']);
    const { receive: without } = seeing();
    expect(await without(sent('invoice.eaten', 1))).toMatchObject({ outcome: 'ignored' });
  });

  it('takes a sample for an event and for no state', async () => {
    const { seen, receive } = seeing();
    const sample = paid(0, '', { test: true });
    expect(outcomes([await receive(sample), await receive(paid(1, ''))])).toEqual(['204 handled', '204 handled']);
    expect(seen).toEqual(['paid:  0', 'invoice.paid  1', 'paid:  1']);
  });

  it('gives handlers the transaction of the order, which has the last word', async () => {
    const rows: string[] = [];
    const order: WebhookOrder<{ insert(row: string): void }> = {
      advance: async ({ object, sequence }, effect) => {
        if (sequence === 2) return false;
        await effect({ insert: row => void rows.push(`${row} of ${object} at ${sequence}`) });
        return true;
      },
    };
    const receive = webhookReceiver({
      secrets,
      order,
      on: { 'invoice.paid': ({ data }, transaction) => transaction.insert(data.invoiceId) },
      latest: { invoice: ({ data }, transaction) => transaction.insert(data.invoiceId) },
    });
    expect(outcomes([await receive(paid(1)), await receive(sent('invoice.created', 2))])).toEqual([
      '204 handled',
      '204 stale',
    ]);
    expect(rows).toEqual(['in_1 of 7 invoice in_1 at 1', 'in_1 of event ev_invoice.paid_in_1_1 at 1']);
  });
});

describe('an order in memory', () => {
  const handled = (
    order: WebhookOrder,
    object: string,
    sequence: number,
    effect = async (): Promise<void> => undefined,
  ) => order.advance({ object, sequence }, effect);

  it('keeps the sequences of a bounded number of places, those that were advanced last', async () => {
    const order = memoryOrder(2);
    for (const [at, object] of ['a', 'b', 'a', 'c'].entries()) expect(await handled(order, object, at + 5)).toBe(true);
    const again: boolean[] = [];
    for (const [object, sequence] of Object.entries({ a: 7, c: 8, b: 1 }))
      again.push(await handled(order, object, sequence));
    expect(again).toEqual([false, false, true]);
  });

  it('goes forwards only, also where two receivers share it', async () => {
    const order = memoryOrder();
    let release: () => void = () => undefined;
    const released = new Promise<void>(done => {
      release = done;
    });
    const slow = handled(order, 'a', 1, () => released);
    expect(await handled(order, 'a', 2)).toBe(true);
    release();
    await slow;
    expect([await handled(order, 'a', 2), await handled(order, 'a', 3)]).toEqual([false, true]);
  });
});
