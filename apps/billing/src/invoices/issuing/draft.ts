import type { In, Invoice, newInvoice, Plan } from '@recur/contracts';
import { invalid } from '@recur/kernel';
import { Appender, type CommandReader, type Tx } from '@recur/platform';
import { assertSellable, type PlanCopies } from '../../customers/catalog.js';
import type { Gateway } from '../../gateways/domain/gateway.js';
import { type Draft, newDraft } from '../domain/draft.js';
import type * as domain from '../domain/invoice.js';
import { withoutSubscription } from '../domain/items.js';
import type { InvoiceState } from '../state.js';
import { invoiceLines, type LineRow } from '../tables.js';
import { invoiceAggregate } from '../views.js';

/** Saves a new draft and emits `invoice.created`. */
export function saveDraft(
  tx: Tx | Appender,
  given: Draft,
  gateway: Gateway | undefined,
  copies: PlanCopies,
  { log, invoiceId = tx.newId('in_') }: { log?: 'New'; invoiceId?: string } = {},
): { draft: InvoiceState; view: Invoice } {
  const drafted = newDraft(given, {
    merchantId: tx.merchantId,
    invoiceId,
    now: tx.now,
    gatewayId: gateway?.gatewayId ?? 0,
  });
  const draft: InvoiceState = Object.assign(drafted, {
    lines: lineRows(drafted, planOfDraft(copies)),
    gateway,
    payment: undefined,
    seller: null,
    buyer: null,
    discount: null,
    ...withoutSubscription,
  });
  for (const line of draft.lines) {
    if (tx instanceof Appender) tx.add(invoiceLines, line);
    else tx.save(invoiceLines, line);
  }
  return { draft, view: tx.step(invoiceAggregate, draft, 'invoice.created', { log }).view };
}

/** Replaces the lines of a draft in the database. */
export async function replaceLines(tx: Tx, { invoiceId, lines }: InvoiceState): Promise<void> {
  await tx.jointlyWritten('lines that are replaced', invoiceId, async ids => {
    await tx.run('delete from invoice_lines where merchant_id = $1 and invoice_id = any($2)', [tx.merchantId, ids]);
    return ids;
  });
  for (const line of lines) tx.save(invoiceLines, line);
}

// Invoice lines between input, domain and table.

/** Half of the NATS message limit: the other half is for the amounts, the gateway and the user. */
const size = { lineBytes: 2_097_152 } as const;

type LineInput = In<typeof newInvoice>['lines'][number];

const planOfLine = (at: number) => `/lines/${at}/planId`;

/**
 * Lines to be priced: a line that names a plan takes its name and price from the plan. `pathOf` gives the input field
 * that names the plan of a line. Throws what `assertSellable` does; Rejected `invalid_parameters` for a plan in another
 * currency, or for lines that are too large for one message.
 */
export function linesToPrice(
  tx: CommandReader,
  lines: readonly LineInput[],
  currency: string,
  copies: PlanCopies,
  pathOf = planOfLine,
): domain.DraftLine[] {
  const drafted = lines.map((line, at) => lineToPrice(tx, line, pathOf(at), currency, copies));
  assertSize(drafted, copies);
  return drafted;
}

/** Each line carries its whole plan, and the invoice with all of them is one event and one answer. */
function assertSize(lines: readonly domain.DraftLine[], copies: PlanCopies): void {
  if (copies.size === 0) return;
  const planBytes = new Map(
    [...copies].map(([id, copy]) => [id, Buffer.byteLength(JSON.stringify(copy?.data ?? null))]),
  );
  const bytes = lines.reduce(
    (all, { planId, name, description }) => all + Buffer.byteLength(name + description) + (planBytes.get(planId) ?? 0),
    0,
  );
  if (bytes <= size.lineBytes) return;
  throw invalid(
    '/lines',
    `The lines and their plans are ${bytes} bytes of text: an invoice holds at most ${size.lineBytes}`,
  );
}

function lineToPrice(
  tx: CommandReader,
  line: LineInput,
  path: string,
  currency: string,
  copies: PlanCopies,
): domain.DraftLine {
  const { planId, name, description, quantity, unitAmountExcludingTax = 0 } = line;
  if (planId === 0) {
    return { planId, name, description, quantity, unitAmountExcludingTax: BigInt(unitAmountExcludingTax) };
  }
  const plan = assertSellable(tx, planId, copies, path);
  if (plan.currency !== currency) {
    throw invalid(path, `The plan is priced in ${plan.currency}, the invoice is in ${currency}`);
  }
  return {
    planId,
    name: plan.planName,
    description: description || plan.description,
    quantity,
    unitAmountExcludingTax: BigInt(plan.amount),
  };
}

/** The plan that a line keeps, by the line and its position from 0. */
export type PlanOf = (line: domain.InvoiceLine, at: number) => Plan | null;

/** Looks up a line's plan as it is now. */
export const planOfDraft =
  (copies: PlanCopies): PlanOf =>
  line =>
    copies.get(line.planId)?.data ?? null;

/** Rows of an invoice's lines, each with its plan. V8 makes them ten times as slowly where the spread comes first. */
export function lineRows({ merchantId, invoiceId, lines }: domain.Invoice, planOf: PlanOf): LineRow[] {
  return lines.map((line, at) => ({ merchantId, ...line, invoiceId, lineNo: at + 1, plan: planOf(line, at) }));
}
