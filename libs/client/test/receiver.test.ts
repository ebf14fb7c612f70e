import { describe, expect, it } from '@jest/globals';
import { memoryOrder, type Receipt, type WebhookOrder, webhookReceiver } from '../src/index.js';
import { delivery, secret } from './signed.js';

const secrets = [secret];
const paid = (sequence: number, invoiceId = 'in_1', more: object = {}) =>
  delivery({ id: `ev_${invoiceId}_${sequence}`, type: 'invoice.paid', sequence, data: { invoiceId }, ...more });
const outcomes = (receipts: readonly Receipt[]) => receipts.map(({ status, outcome }) => `${status} ${outcome}`);

/** A receiver that writes down what its handlers see. */
function seeing() {
  const seen: string[] = [];
  const receive = webhookReceiver({
    secrets,
    on: {
      'invoice.paid': ({ data, sequence }) => void seen.push(`${data.invoiceId} ${sequence}`),
      'payment.success': ({ data }) => void seen.push(data.paymentId),
      'payment.report.mismatch': ({ data }) => void seen.push(data.reason),
    },
    overtaken: ({ type, sequence }) => void seen.push(`overtaken: ${type} ${sequence}`),
  });
  return { seen, receive };
}

describe('a receiver of webhooks', () => {
  it('has an event handled once, and drops what is repeated or overtaken', async () => {
    const { seen, receive } = seeing();
    const receipts: Receipt[] = [];
    for (const sequence of [1, 1, 3, 2, 3, 4]) receipts.push(await receive(paid(sequence)));
    receipts.push(await receive(paid(2, 'in_2')));
    expect(outcomes(receipts)).toEqual([
      ...['204 handled', '204 repeated', '204 handled', '204 overtaken', '204 repeated', '204 handled', '204 handled'],
    ]);
    expect(seen).toEqual(['in_1 1', 'in_1 3', 'overtaken: invoice.paid 2', 'in_1 4', 'in_2 2']);
  });

  it('counts events of one object together, whatever their names are', async () => {
    const { seen, receive } = seeing();
    const data = { paymentId: 'pay_1', reason: 'amount' };
    await receive(delivery({ id: 'ev_2', type: 'payment.report.mismatch', sequence: 2, data }));
    const late = await receive(delivery({ id: 'ev_1', type: 'payment.success', sequence: 1, data }));
    expect([seen, late.outcome]).toEqual([['amount', 'overtaken: payment.success 1'], 'overtaken']);
  });

  it('handles events of one object one after another, and of others meanwhile', async () => {
    const log: string[] = [];
    const release = new Map<string, () => void>();
    const begun = new Map<string, () => void>();
    const hasBegun = (what: string) => new Promise<void>(done => begun.set(what, done));
    const receive = webhookReceiver({
      secrets,
      on: {
        'invoice.paid': async ({ data, sequence }) => {
          const what = `${data.invoiceId} ${sequence}`;
          log.push(`begin ${what}`);
          const released = new Promise<void>(done => release.set(what, done));
          begun.get(what)?.();
          await released;
          log.push(`end ${what}`);
        },
      },
    });
    const [first, other, second] = ['in_1 1', 'in_2 1', 'in_1 2'].map(hasBegun);
    const all = [receive(paid(1)), receive(paid(2)), receive(paid(1, 'in_2'))];
    await Promise.all([first, other]);
    expect(log.sort()).toEqual(['begin in_1 1', 'begin in_2 1']);
    release.get('in_1 1')?.();
    await second;
    expect(log.slice(2)).toEqual(['end in_1 1', 'begin in_1 2']);
    for (const what of ['in_1 2', 'in_2 1']) release.get(what)?.();
    expect(outcomes(await Promise.all(all))).toEqual(['204 handled', '204 handled', '204 handled']);
  });

  it('has recur try again when a handler threw, and is not past the event then', async () => {
    let fails = true;
    const receive = webhookReceiver({
      secrets,
      on: {
        'invoice.paid': () => {
          if (fails) throw new Error('no database');
        },
      },
    });
    expect(await receive(paid(2))).toEqual({ status: 500, outcome: 'failed', error: new Error('no database') });
    fails = false;
    expect(outcomes([await receive(paid(2)), await receive(paid(1))])).toEqual(['204 handled', '204 overtaken']);
  });

  it('refuses what is not signed, and is not interested in what has no handler', async () => {
    const { seen, receive } = seeing();
    const { body, headers } = paid(1);
    expect(await receive({ body: `${body} `, headers })).toEqual({ status: 400, outcome: 'signature_wrong' });
    expect(await receive({ body, headers: {} })).toEqual({ status: 400, outcome: 'headers_missing' });
    const created = { id: 'ev_9', type: 'invoice.created', sequence: 9, data: { invoiceId: 'in_1' } };
    expect(await receive(delivery(created))).toEqual({ status: 204, outcome: 'ignored' });
    // what was ignored has no part in the order of what is handled
    expect(await receive(paid(1))).toMatchObject({ outcome: 'handled' });
    expect(seen).toEqual(['in_1 1']);
  });

  it('hands names that it does not know to the default handler, in no order, and known ones without a handler in theirs', async () => {
    const seen: string[] = [];
    const receive = webhookReceiver({
      secrets,
      on: { default: ({ type, sequence }) => void seen.push(`${type} ${sequence}`) },
    });
    const unknown = (sequence: number, type = 'invoice.eaten') =>
      receive(delivery({ id: `ev_${sequence}`, type, sequence, data: { invoiceId: 'in_1' } }));
    expect(outcomes([await unknown(5), await unknown(4), await unknown(1, 'constructor')])).toEqual([
      ...['204 handled', '204 handled', '204 handled'],
    ]);
    expect(outcomes([await receive(paid(2)), await receive(paid(1))])).toEqual(['204 handled', '204 overtaken']);
    expect(seen).toEqual(['invoice.eaten 5', 'invoice.eaten 4', 'constructor 1', 'invoice.paid 2']);
    const { receive: without } = seeing();
    const foreign = delivery({ id: 'ev_1', type: 'invoice.eaten', sequence: 1, data: {} });
    expect(await without(foreign)).toMatchObject({ outcome: 'ignored' });
  });

  it('handles samples without an order', async () => {
    const { seen, receive } = seeing();
    const sample = paid(0, '', { test: true });
    expect(outcomes([await receive(sample), await receive(sample), await receive(paid(1, ''))])).toEqual([
      ...['204 handled', '204 handled', '204 handled'],
    ]);
    expect(seen).toEqual([' 0', ' 0', ' 1']);
  });

  it('gives handlers the transaction of the order, which has the last word', async () => {
    const rows: string[] = [];
    let recorded = 0;
    const order: WebhookOrder<{ insert(row: string): void }> = {
      last: () => recorded,
      advance: async (place, effect) => {
        if (place?.sequence === 2) {
          // another process was faster
          recorded = 3;
          return false;
        }
        await effect({ insert: row => void rows.push(`${row} of ${place?.object} at ${place?.sequence}`) });
        recorded = place?.sequence ?? recorded;
        return true;
      },
    };
    const receive = webhookReceiver({
      secrets,
      order,
      on: { 'invoice.paid': ({ data }, transaction) => transaction.insert(data.invoiceId) },
    });
    expect(outcomes([await receive(paid(1)), await receive(paid(2)), await receive(paid(3))])).toEqual([
      ...['204 handled', '204 overtaken', '204 repeated'],
    ]);
    expect(rows).toEqual(['in_1 of 7 invoice in_1 at 1']);
  });

  it('keeps the sequences of a bounded number of objects, those that had an event last', async () => {
    const order = memoryOrder(2);
    const handled = async (object: string, sequence: number) =>
      order.advance({ object, sequence }, async () => undefined);
    for (const object of ['a', 'b', 'a', 'c']) await handled(object, 5);
    expect(['a', 'b', 'c'].map(object => order.last(object))).toEqual([5, 0, 5]);
  });
});
