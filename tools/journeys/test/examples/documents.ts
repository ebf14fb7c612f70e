import { expect } from '@jest/globals';
import { orThrow } from '@recur/client';
import type { Invoice } from '@recur/contracts';
import type { Seller } from './seller.js';

/** The part of a document that its preview promises: everything about its lines but their ids, and what they come to. */
export const promised = (document: Invoice) => ({
  invoiceName: document.invoiceName,
  periodStart: document.periodStart,
  periodEnd: document.periodEnd,
  discountAmount: document.discountAmount,
  taxAmount: document.taxAmount,
  totalAmount: document.totalAmount,
  lines: document.lines.map(({ lineId: _, ...line }) => line),
});

const sum = (amounts: readonly number[]) => amounts.reduce((total, amount) => total + amount, 0);

/**
 * Asserts that the explanation of a document adds up to it, and that the inputs of each usage line come to its amount. A
 * usage line has the quantity 1 (D7).
 */
export async function assertExplained({ api }: Seller, { invoiceId, lines, totalAmount }: Invoice): Promise<void> {
  const explained = orThrow(await api.get('/merchant/invoice/explain', { invoiceId }));
  const amounts = (of: readonly { lineId: string; amount: number }[]) => of.map(line => [line.lineId, line.amount]);
  expect(amounts(explained.lines)).toEqual(amounts(lines));
  const totals = explained.totals.map(({ amount }) => amount);
  expect([sum(totals.slice(0, -1)), totals.at(-1)]).toEqual([totalAmount, totalAmount]);
  for (const [at, line] of lines.entries()) {
    if (!line.metricCharge) continue;
    const net = netIn(explained.lines[at]?.inputs ?? {});
    expect([net, line.quantity, line.unitAmountExcludingTax]).toEqual([line.amountExcludingTax, 1, net]);
  }
}

/** The net amount to which the inputs of a usage line come: its steps, for its part of the period, less what was billed. */
function netIn(inputs: Readonly<Record<string, unknown>>): number {
  const of = (name: string) => Number(inputs[name] ?? 0);
  const steps = Object.keys(inputs).flatMap(name => /^units (.*)$/.exec(name)?.[1] ?? []);
  const price = (step: string) => Math.round(of(`units ${step}`) * of(`unitPrice ${step}`)) + of(`flatAmount ${step}`);
  const whole = sum(steps.map(price));
  const part = 'partSeconds' in inputs ? Math.round((whole * of('partSeconds')) / of('periodSeconds')) : whole;
  return part - of('billed');
}
