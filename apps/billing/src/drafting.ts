import { type In, type Invoice, type newInvoice, type Plan, planStatus, userStatus } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import type { Reader, Tx } from '@recur/platform';
import { emailKey } from './copies.js';
import * as domain from './domain/invoice.js';
import {
  type Gateway,
  type InvoiceRow,
  invoiceLines,
  invoices,
  type LineRow,
  type PlanCopy,
  plans,
  type UserCopy,
  users,
} from './tables.js';
import { invoiceView } from './views.js';

// What invoice/new, invoice/edit and payment/new have in common: who buys, through which gateway, and what.

/** Half of what NATS carries in one message: the other half is for the figures, the gateway and the user. */
const limits = { lineBytes: 2_097_152 } as const;

/** An invoice with its lines as they are stored. */
export type StoredInvoice = Omit<domain.Invoice, 'lines'> & { lines: LineRow[] };
type AskedLine = In<typeof newInvoice>['lines'][number];
/** The copies of the plans that lines name, by id; undefined where there is none. */
export type Plans = ReadonlyMap<number, PlanCopy | undefined>;

/** What a user is asked for by: the first that is given. */
export interface Who {
  userId?: number;
  externalUserId?: string;
  email?: string;
}

/** The ids of the users who have an e-mail; more than one only while copies are behind. */
export const usersByEmail = async (reader: Reader, email: string): Promise<number[]> =>
  (await reader.all(users, { emailKey: emailKey(email) })).map(({ id }) => id);

export async function findUser(reader: Reader, who: Who): Promise<UserCopy | undefined> {
  const { userId, externalUserId, email = '' } = who;
  if (userId !== undefined) return reader.find(users, { id: userId });
  const where = externalUserId ? { externalUserId } : { emailKey: emailKey(email) };
  // where a copy is behind and two users show the same, the younger one is more likely to have it now
  const [user] = await reader.all(users, where, 'order by id desc limit 1');
  return user;
}

/** The user that was found, if it may buy; else its owner is asked, by what it was asked for. */
export function buyer(tx: Tx, { userId, externalUserId, email = '' }: Who, user: UserCopy | undefined): UserCopy {
  if (!user) {
    throw tx.stale(
      'users',
      userId ?? (externalUserId ? { externalUserId } : { email }),
      new Rejected('user_not_found'),
    );
  }
  if (user.status !== userStatus.active) {
    const message = `User ${user.id} is suspended: cannot make an invoice for it`;
    throw tx.stale('users', user.id, new Rejected('user_inactive', message));
  }
  return user;
}

/** The gateway that was asked for; else the usual one; else the merchant's default; none where there is none. */
export function chooseGateway(all: readonly Gateway[], asked: number, usual: number): Gateway | undefined {
  if (asked !== 0) return usableGateway(all, asked);
  const usable = all.filter(({ archived }) => !archived);
  return usable.find(({ gatewayId }) => gatewayId === usual) ?? usable.find(({ isDefault }) => isDefault);
}

export function usableGateway(all: readonly Gateway[], asked: number): Gateway {
  const gateway = all.find(({ gatewayId }) => gatewayId === asked);
  if (!gateway) throw new Rejected('gateway_not_found');
  if (gateway.archived) throw new Rejected('gateway_archived', `Gateway ${asked} is archived: cannot collect by it`);
  return gateway;
}

export async function plansOf(reader: Reader, lines: readonly Pick<AskedLine, 'planId'>[]): Promise<Plans> {
  const ids = [...new Set(lines.map(line => line.planId).filter(id => id !== 0))];
  const copies = await Promise.all(ids.map(id => reader.find(plans, { id })));
  return new Map(ids.map((id, at) => [id, copies[at]]));
}

const planOfLine = (at: number) => `/lines/${at}/planId`;

/** What lines sell: one that names a plan takes its name and price. `pathOf` is the field that named the plan of a line. */
export function sold(
  tx: Tx,
  lines: readonly AskedLine[],
  currency: string,
  copies: Plans,
  pathOf = planOfLine,
): domain.DraftLine[] {
  const drafted = lines.map((line, at) => soldOn(tx, line, pathOf(at), currency, copies));
  refuseLarge(drafted, copies);
  return drafted;
}

/** Each line carries its whole plan, and the invoice with all of them is one event and one answer. */
function refuseLarge(lines: readonly domain.DraftLine[], copies: Plans): void {
  if (copies.size === 0) return;
  const planBytes = new Map(
    [...copies].map(([id, copy]) => [id, Buffer.byteLength(JSON.stringify(copy?.data ?? null))]),
  );
  const bytes = lines.reduce(
    (all, { planId, name, description }) => all + Buffer.byteLength(name + description) + (planBytes.get(planId) ?? 0),
    0,
  );
  if (bytes <= limits.lineBytes) return;
  throw invalid(
    '/lines',
    `With their plans they are ${bytes} bytes of text: at most ${limits.lineBytes} fit an invoice`,
  );
}

function soldOn(tx: Tx, line: AskedLine, path: string, currency: string, copies: Plans): domain.DraftLine {
  const { planId, name, description, quantity, unitAmountExcludingTax = 0 } = line;
  if (planId === 0) {
    return { planId, name, description, quantity, unitAmountExcludingTax: BigInt(unitAmountExcludingTax) };
  }
  const copy = copies.get(planId);
  if (!copy) {
    const issues = [{ path, message: 'names no plan' }];
    throw tx.stale('plans', planId, new Rejected('plan_not_found', undefined, issues));
  }
  if (copy.status !== planStatus.active) {
    const state = stateOf(copy.status);
    const issues = [{ path, message: `names a plan that is ${state}` }];
    const refusal = new Rejected('plan_not_active', `Plan ${planId} is ${state}: cannot sell it`, issues);
    // one that is archived for good, or deleted, never comes back: of this nobody has to be asked
    throw copy.status === planStatus.hardArchived ? refusal : tx.stale('plans', planId, refusal);
  }
  const plan = copy.data;
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

const stateOf = (status: number) => Object.entries(planStatus).find(([, code]) => code === status)?.[0];

/** Saves a new draft and says so; the log entry is the caller's. Answers it, and its view. */
export function saveDraft(
  tx: Tx,
  given: domain.Draft,
  gateway: Gateway | undefined,
  copies: Plans,
): { draft: StoredInvoice; view: Invoice } {
  const drafted = domain.draft(given, {
    invoiceId: tx.newId('in_'),
    merchantId: tx.merchantId,
    gatewayId: gateway?.gatewayId ?? 0,
    now: tx.now,
  });
  const draft = Object.assign(drafted, { lines: rowsOf(drafted, planIn(copies)) });
  for (const line of draft.lines) tx.save(invoiceLines, line);
  tx.save(invoices, draft);
  const view = invoiceView(draft, gateway);
  tx.emit('invoice.created', draft, view);
  return { draft, view };
}

/** The plan of a line as it is now. */
export const planIn = (copies: Plans) => (line: domain.InvoiceLine) => copies.get(line.planId)?.data ?? null;

/** An invoice's lines as they are stored, each with its plan. */
export function rowsOf(
  { merchantId, invoiceId, lines }: domain.Invoice,
  planOf: (line: domain.InvoiceLine, at: number) => Plan | null,
): LineRow[] {
  return lines.map((line, at) => ({
    merchantId,
    invoiceId,
    lineNo: at + 1,
    lineId: line.lineId,
    name: line.name,
    description: line.description,
    planId: line.planId,
    plan: planOf(line, at),
    unitAmountExcludingTax: line.unitAmountExcludingTax,
    quantity: line.quantity,
    amountExcludingTax: line.amountExcludingTax,
    promoAmount: line.promoAmount,
    discountAmount: line.discountAmount,
    tax: line.tax,
    amount: line.amount,
    originAmount: line.originAmount,
  }));
}

export async function withLines(reader: Reader, row: InvoiceRow): Promise<StoredInvoice> {
  const lines = await reader.all(invoiceLines, { invoiceId: row.invoiceId }, 'order by line_no');
  return { ...row, lines };
}
