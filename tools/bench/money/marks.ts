import { createClient } from '@recur/client';
import { connect, copies, settled } from '../fill.js';
import { load } from '../load.js';
import type { Bench } from '../measure.js';
import { takeRate } from '../rounds.js';
import { invoiceYardstick } from '../yardstick.js';
import { finishedInvoices } from './sales.js';

const connections = 32;
const [invoices, lines] = [30_000, 3];

const id = (prefix: string) => `'${prefix}_' || lpad('x' || n, 26, '0')`;
const ofInvoice = `'invoice_id', ${id('in')}, 'id', 1000000000 + n, 'payment_id', ${id('pay')},
  'counter', template.counter + n, 'number', template.number || '-' || n, 'link', template.link || n`;
const ofLine = `'invoice_id', ${id('in')}, 'line_id', ${id('in')} || '_' || template.line_no`;
const ofPayment = `'payment_id', ${id('pay')}, 'id', 1000000000 + n, 'invoice_id', ${id('in')}`;

/** invoice/mark_wire_transfer_success of open invoices of three lines, at 32 connections; the limit is the statement. */
export async function markRate(bench: Bench): Promise<void> {
  const { stack, pgbench } = bench;
  const { baseUrl, services } = stack.facts();
  const { apiKey, merchantId } = await stack.merchant('Marks');
  await finishedInvoices(createClient({ baseUrl, credential: apiKey }), 1);
  bench.tell(`  · filling up to ${invoices} open invoices …`);
  const client = await connect(services.postgres.url, 'billing');
  try {
    const own = `merchant_id = ${Number(merchantId)}`;
    await client.query(copies('invoices', ofInvoice, own, 1, invoices));
    for (let line = 1; line <= lines; line++) {
      await client.query(copies('invoice_lines', ofLine, `${own} and line_no = ${line}`, 1, invoices));
    }
    await client.query(copies('payments', ofPayment, own, 1, invoices));
    await client.query(copies('due_work', `'key', ${id('in')}`, `${own} and kind = 'invoice.expire'`, 1, invoices));
    await settled(client);
  } finally {
    await client.end();
  }
  const yardstick = await invoiceYardstick(pgbench, services.postgres.url);
  let sent = 0;
  await takeRate(bench, 'payment_mark', {
    load: seconds => load(baseUrl, connections, seconds, () => (++sent > invoices ? undefined : mark(apiKey, sent))),
    limit: async seconds => (await yardstick(seconds)).perSecond,
  });
}

const mark = (apiKey: string, n: number) => ({
  method: 'POST',
  path: '/merchant/invoice/mark_wire_transfer_success',
  headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
  body: JSON.stringify({ invoiceId: `in_${`x${n}`.padStart(26, '0')}`, transferNumber: `T-${n}` }),
});
