import { type Client, orThrow } from '@recur/client';
import { exponentOf, type InvoiceLine } from '@recur/contracts';
import type { Delivery } from '../journeys/receiver.js';

/** An entry of the timeline, by the merchant's clock. */
export interface Entry {
  at: number;
  /** Order of entries of one second: steps, then what follows from them. */
  rank: number;
  line: string;
  /** The id of what it tells, by which entries of one minute and rank are ordered. */
  id?: string;
}

const states = ['new', 'draft', 'open', 'paid', 'failed', 'cancelled', 'reversed'];

/** Every invoice and credit note of the merchant with its lines. */
export async function invoiceEntries(api: Client): Promise<Entry[]> {
  const { invoices } = orThrow(await api.get('/merchant/invoice/list', { count: 1000 }));
  const { creditNotes } = orThrow(await api.post('/merchant/invoice/credit_note/list', { count: 1000 }));
  return [...invoices, ...creditNotes].map(invoice => {
    const { currency, lines } = invoice;
    const head = [
      `${invoice.totalAmount < 0 ? 'credit note' : 'invoice'} ${invoice.number || invoice.invoiceId} ${invoice.invoiceName}:`,
      `${money(invoice.totalAmount, currency)}, ${money(invoice.taxAmount, currency)} of it tax,`,
      `now ${states[invoice.status] ?? invoice.status}`,
    ].join(' ');
    const below = lines.map(line => `${' '.repeat(24)}${money(line.amountExcludingTax, currency)}  ${named(line)}`);
    return { at: invoice.createTime, rank: 2, id: invoice.invoiceId, line: [head, ...below].join('\n') };
  });
}

/** The name of a line; of usage how much it was, and when. */
const named = ({ name, description, metricCharge, periodStart, periodEnd }: InvoiceLine): string =>
  metricCharge ? `${description}, ${minute(periodStart)} – ${minute(periodEnd)}` : name;

/** Events, as their webhooks told them, each once. */
export function eventEntries(deliveries: readonly Delivery[]): Entry[] {
  const events = new Map(deliveries.map(({ headers, body }) => [headers['webhook-id'] ?? '', body]));
  return [...events].map(([webhookId, body]) => {
    const { type, timestamp, data } = JSON.parse(body) as {
      type: string;
      timestamp: string;
      data: Record<string, unknown>;
    };
    const id = data.invoiceId || data.subscriptionId || data.paymentId || data.refundId || '';
    return { at: Date.parse(timestamp) / 1000, rank: 3, id: webhookId, line: `event ${type} ${String(id)}`.trimEnd() };
  });
}

/** E-mails to users. */
export async function mailEntries(api: Client): Promise<Entry[]> {
  const { emailHistories } = orThrow(await api.get('/merchant/email/history_list', { count: 1000 }));
  return emailHistories.map(({ email, title, createTime }) => ({
    at: createTime,
    rank: 4,
    line: `mail to ${email}: ${title}`,
  }));
}

/** The timeline as text, a line per entry, in order of time to the minute. Ids are short: the second invoice is in_2. */
export function printed(entries: readonly Entry[]): string {
  const lines = entries
    .map(({ at, rank, id = '', line }) => ({ rank, id, at: minute(at), line: `${minute(at)}  ${line}` }))
    .toSorted((a, b) => a.at.localeCompare(b.at) || a.rank - b.rank || (a.id < b.id ? -1 : Number(a.id > b.id)))
    .map(({ line }) => line);
  const text = lines.join('\n');
  const names = shortNames(new Set(text.match(ids)));
  return text.replaceAll(ids, id => names.get(id) ?? id);
}

const ids = /\b[a-z]+_[0-9a-z]{20,}\b/g;

/** Ids are numbered in the order in which they were made, by their prefixes. */
function shortNames(all: ReadonlySet<string>): Map<string, string> {
  const counts = new Map<string, number>();
  return new Map(
    [...all].toSorted().map(id => {
      const [prefix = ''] = id.split('_');
      const count = (counts.get(prefix) ?? 0) + 1;
      counts.set(prefix, count);
      return [id, `${prefix}_${count}`];
    }),
  );
}

/** A UTC time for people, to the minute. */
export const minute = (at: number): string => new Date(at * 1000).toISOString().slice(0, 16).replace('T', ' ');

/** Minor units for people. */
function money(amount: number, currency: string): string {
  const decimals = exponentOf(currency);
  const digits = String(Math.abs(amount)).padStart(decimals + 1, '0');
  const point = digits.length - decimals;
  return `${amount < 0 ? '−' : ''}${digits.slice(0, point)}${decimals > 0 ? `.${digits.slice(point)}` : ''} ${currency}`;
}
