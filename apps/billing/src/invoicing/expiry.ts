import { Inject, Injectable } from '@nestjs/common';
import {
  CLOCK,
  type Clock,
  Db,
  hydrate,
  LOG,
  type Log,
  PeriodicTask,
  systemCaller,
  type Worker,
} from '@recur/platform';
import { invoiceAggregate } from './aggregates.js';
import { InvoiceEndings } from './endings.js';
import { type Expiry, expiries } from './tables.js';

const sweep = { everyMs: 10_000, batch: 500 } as const;

/** Due expiries in index order, after a cursor. */
const due = `select due_time, merchant_id, invoice_id from expiries
  where due_time <= $1 and (due_time, merchant_id, invoice_id) > ($2, $3, $4)
  order by due_time, merchant_id, invoice_id limit ${sweep.batch}`;
const open = `select invoice_id from invoices where merchant_id = $1 and invoice_id = any($2) and status = 'processing'`;
const settle = `delete from expiries e using unnest($2::bigint[], $3::text[]) settled(due_time, invoice_id)
  where e.merchant_id = $1 and e.due_time = settled.due_time and e.invoice_id = settled.invoice_id`;

/** Fails open invoices whose payment term is over. Any number of workers may run: each invoice expires once. */
@Injectable()
export class InvoiceExpiry implements Worker {
  private readonly task = new PeriodicTask(
    sweep.everyMs,
    () => this.sweep(),
    error => this.log.warn({ err: error }, 'the sweep of invoice expiries failed'),
  );

  constructor(
    private readonly db: Db,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
    private readonly endings: InvoiceEndings,
  ) {}

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  /** Expires all due invoices, batch by batch. Failures are retried in the next sweep. */
  async sweep(): Promise<void> {
    const now = Math.floor(this.clock.wall() / 1000);
    let last: Expiry = { dueTime: 0, merchantId: 0, invoiceId: '' };
    for (let full = true; full && !this.task.stopped; ) {
      const rows = await this.db.infra(due, [now, last.dueTime, last.merchantId, last.invoiceId]);
      const batch = rows.map(row => hydrate(expiries, row));
      for (const merchantId of new Set(batch.map(expiry => expiry.merchantId))) {
        await this.expireBatch(
          merchantId,
          batch.filter(expiry => expiry.merchantId === merchantId),
        );
      }
      last = batch.at(-1) ?? last;
      full = batch.length === sweep.batch;
    }
  }

  /** Most invoices are settled by their expiry and never reopen: their rows are deleted in one statement. */
  private async expireBatch(merchantId: number, batch: readonly Expiry[]): Promise<void> {
    const ids = batch.map(({ invoiceId }) => invoiceId);
    const rows = await this.db.read(callerOf(merchantId, ''), reader => reader.query(open, [merchantId, ids]));
    const unpaid = new Set(rows.map(row => row.invoice_id));
    const settled = batch.filter(({ invoiceId }) => !unpaid.has(invoiceId));
    await this.db.infra(settle, settlement(merchantId, settled));
    for (const expiry of batch.filter(({ invoiceId }) => unpaid.has(invoiceId))) {
      try {
        await this.expire(expiry);
      } catch (error) {
        this.log.error({ err: error, ...expiry }, 'could not expire an invoice');
      }
    }
  }

  private expire(expiry: Expiry): Promise<object> {
    const { merchantId, invoiceId } = expiry;
    return this.db.write(callerOf(merchantId, invoiceId), async tx => {
      // another worker may be handling it: the one that deletes the row expires the invoice
      if (!(await tx.lockIfAny(expiries, expiry))) return {};
      const invoice = await tx.lock(invoiceAggregate, invoiceId, 'invoice_not_found');
      if (invoice.status !== 'processing' || tx.now < expiry.dueTime) return {};
      await tx.run(settle, settlement(merchantId, [expiry]));
      await this.endings.expire(tx, invoice);
      return {};
    });
  }
}

/** No client waits, so there is no deadline; the request id is derived from the invoice. */
const callerOf = (merchantId: number, invoiceId: string) =>
  systemCaller(merchantId, `expire_${invoiceId}`, Number.POSITIVE_INFINITY);

const settlement = (merchantId: number, settled: readonly Expiry[]) => [
  merchantId,
  settled.map(({ dueTime }) => dueTime),
  settled.map(({ invoiceId }) => invoiceId),
];
