import {
  cellsOf,
  type ExportFilters,
  type ExportRow,
  type ExportTask,
  exportColumns,
  exportFilters,
  exportRows,
  isTimeZone,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Caller, Db, Questions, SliceAt, Sliced } from '@recur/platform';
import { exportedTransactions } from '../../collection/payment-lists.js';
import { exportedCredits } from '../../credits/accounts.js';
import { exportedCodes, exportedDiscounts, exportedUses } from '../../discounts/discounts.js';
import { exportedInvoices } from '../../invoices/lists/invoice-list.js';
import { exportedSubscriptions } from '../../subscriptions/reads/subscriptions.js';
import { exportedEvents } from '../../usage/events/event-list.js';

/** Rows that another service answers at once. */
const limits = { asked: 500 } as const;

/** Means and settings with which the rows of an export are read. */
export interface ExportReading {
  db: Db;
  questions: Questions;
  caller: Caller;
  payload: Readonly<Record<string, unknown>>;
  columns: readonly string[];
}

/** The next rows of an export, as cells in the order of its columns. */
type ExportSource = (reading: ExportReading, at: SliceAt) => Promise<Sliced<(string | number)[]>>;

/** Rows of billing's own. */
const own =
  <T extends ExportTask>(
    task: T,
    read: (db: Db, caller: Caller, input: ExportFilters<T>, at: SliceAt) => Promise<Sliced<ExportRow<T>>>,
  ): ExportSource =>
  async ({ db, caller, payload, columns }, at) => {
    const { rows, next } = await read(db, caller, filtersOfTask(task, payload), at);
    return { rows: cellsOf(rows, columns), next };
  };

/** Rows of identity. Fewer are asked for where they are too large for an answer. */
const ofIdentity =
  (task: ExportTask): ExportSource =>
  async ({ questions, caller, payload, columns }, { after, count }) => {
    const asked = Math.min(count, limits.asked);
    for (let fewer = asked; ; fewer = Math.ceil(fewer / 8)) {
      try {
        const input = { task, payload: { ...payload }, columns: [...columns], after, count: fewer };
        const { rows, next } = await questions.ask(exportRows, input, caller);
        return { rows, next };
      } catch (error) {
        const isTooLarge = error instanceof Rejected && error.slug === 'answer_too_large';
        if (!isTooLarge || fewer === 1) throw error;
      }
    }
  };

export const sources: Readonly<Record<ExportTask, ExportSource>> = {
  InvoiceExport: own('InvoiceExport', exportedInvoices),
  UserExport: ofIdentity('UserExport'),
  SubscriptionExport: own('SubscriptionExport', exportedSubscriptions),
  TransactionExport: own('TransactionExport', exportedTransactions),
  CreditTransactionExport: own('CreditTransactionExport', exportedCredits),
  DiscountExport: own('DiscountExport', exportedDiscounts),
  UserDiscountExport: own('UserDiscountExport', exportedUses),
  BatchDiscountChildrenExport: own('BatchDiscountChildrenExport', exportedCodes),
  MetricEventExport: own('MetricEventExport', exportedEvents),
  OperationLogExport: ofIdentity('OperationLogExport'),
};

/** The filters of an export that was checked when it was made. */
function filtersOfTask<T extends ExportTask>(task: T, payload: Readonly<Record<string, unknown>>): ExportFilters<T> {
  const filters = exportFilters(task, payload);
  if (!filters.ok) throw new Rejected('invalid_parameters', undefined, filters.issues);
  return filters.value;
}

/** Settings that decide the content of an export. */
export interface ExportSettings {
  task: ExportTask;
  payload: Readonly<Record<string, unknown>>;
  /** None: all. */
  exportColumns: readonly string[];
}

/** Throws Rejected `invalid_parameters`, naming every filter, zone and column that the export does not have. */
export function assertExportable({ task, payload, exportColumns: columns }: ExportSettings): void {
  const filters = exportFilters(task, payload);
  const known = exportColumns(task);
  const issues = [...(filters.ok ? [] : filters.issues)];
  const { timezone } = payload;
  if (timezone !== undefined && timezone !== '' && !(typeof timezone === 'string' && isTimeZone(timezone))) {
    issues.push({
      path: '/payload/timezone',
      message: 'payload.timezone must be an IANA time zone, such as Europe/Berlin',
    });
  }
  for (const [at, name] of columns.entries()) {
    const wrong = !Object.hasOwn(known, name)
      ? `is no column of ${task}`
      : columns.indexOf(name) < at
        ? 'repeats a column'
        : '';
    if (wrong) issues.push({ path: `/exportColumns/${at}`, message: `exportColumns[${at}] ${wrong}` });
  }
  if (issues.length > 0) throw new Rejected('invalid_parameters', undefined, issues);
}

/** The zone in which an export writes times. */
export const requestedZone = ({ timezone }: Readonly<Record<string, unknown>>): string => String(timezone || 'UTC');
