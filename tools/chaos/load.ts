import { randomUUID } from 'node:crypto';
import { createClient, type Input, type Output, type Path } from '@recur/client';
import type { Ask } from '../journeys/ask.js';
import type { Delivery } from '../journeys/receiver.js';
import { order, type Shop } from '../journeys/shop.js';

/** Steps that were acknowledged to a buyer. */
export interface Purchase {
  userId: number;
  invoiceId: string;
  paymentId: string;
  paid: boolean;
}

export interface LoadReport {
  purchases: Purchase[];
  /** Answers that were no success, by error slug; `unreachable` where there was none. Each was asked again. */
  refused: Record<string, number>;
  /** When each request was sent first and when it had succeeded, in milliseconds of `performance.now`. */
  answers: { from: number; until: number }[];
  /** Errors that no injected fault explains. */
  unexpected: string[];
}

export interface Load {
  report: LoadReport;
  /** Requests that wait for their answer now. */
  inFlight(): number;
  /** Resolves when this many more purchases are complete, or when the load has given up. */
  more(purchases: number): Promise<void>;
  /** Lets every buyer finish what was begun, then reports. */
  stop(): Promise<LoadReport>;
}

/** `timeoutMs`: a client gives up on an answer sooner than the gateway does, and asks again with the same key. */
const limits = { timeoutMs: 2_000, patienceMs: 240_000, pauseMs: 25 } as const;

/**
 * Buyers at work, one purchase after the other: a new user, an invoice (every other one as a draft that is finished
 * then), and mostly its payment. Each step is one request with an Idempotency-Key, repeated until it is answered.
 */
export function startLoad(
  baseUrl: string,
  apiKey: string,
  shop: Pick<Shop, 'planId'>,
  buyers: number,
  timeoutMs: number = limits.timeoutMs,
): Load {
  const api = createClient({ baseUrl, credential: apiKey, timeoutMs, attempts: 1 });
  const report: LoadReport = { purchases: [], refused: {}, answers: [], unexpected: [] };
  let stopped = false;
  let inFlight = 0;
  let progress: () => void = () => undefined;

  async function ask<P extends Path<'POST'>>(path: P, input: Input<P>): Promise<Output<P>> {
    const idempotencyKey = randomUUID();
    const deadline = Date.now() + limits.patienceMs;
    const from = performance.now();
    for (;;) {
      inFlight++;
      const result = await api.post(path, input, { idempotencyKey });
      inFlight--;
      if (result.ok) {
        report.answers.push({ from, until: performance.now() });
        return result.data;
      }
      const { type, retryable, message } = result.error;
      report.refused[type] = (report.refused[type] ?? 0) + 1;
      if (!retryable) throw new Error(`${path} answered ${type}: ${message}`);
      if (Date.now() > deadline) throw new Error(`${path} was not done within ${limits.patienceMs} ms: ${type}`);
      await new Promise(resolve => setTimeout(resolve, limits.pauseMs));
    }
  }

  async function purchase(at: number): Promise<void> {
    const { user } = await ask('/merchant/user/new', {
      email: `${randomUUID()}@example.com`,
    });
    const drafted = at % 2 === 0;
    const paid = at % 4 !== 3;
    const input = order(user.id, shop.planId, { finish: !drafted });
    let { invoice } = await ask('/merchant/invoice/new', input);
    const { invoiceId } = invoice;
    if (drafted) ({ invoice } = await ask('/merchant/invoice/finish', { invoiceId, daysUtilDue: 3 }));
    if (paid) await ask('/merchant/invoice/mark_wire_transfer_success', { invoiceId, transferNumber: `T-${at}` });
    report.purchases.push({ userId: user.id, invoiceId, paymentId: invoice.paymentId, paid });
    progress();
  }

  const work = Array.from({ length: buyers }, async (_, buyer) => {
    try {
      for (let at = buyer; !stopped; at++) await purchase(at);
    } catch (error) {
      report.unexpected.push(String(error));
      stopped = true;
      progress();
    }
  });
  return {
    report,
    inFlight: () => inFlight,
    async more(purchases) {
      const wanted = report.purchases.length + purchases;
      while (!stopped && report.purchases.length < wanted) {
        await new Promise<void>(resolve => {
          progress = resolve;
        });
      }
    },
    async stop() {
      stopped = true;
      await Promise.all(work);
      return report;
    },
  };
}

/** Differences between the database and the acknowledgements: nothing acknowledged is missing, nothing done twice. */
export async function audit(
  ask: Ask,
  shop: Pick<Shop, 'merchantId' | 'userId'>,
  { purchases }: Pick<LoadReport, 'purchases'>,
): Promise<string[]> {
  const of = `where merchant_id = ${shop.merchantId}`;
  const invoices = await ask('billing', `select invoice_id, status, payment_id, user_id from invoices ${of}`);
  const users = await ask('identity', `select id from users ${of} and id <> ${shop.userId}`);
  const told = new Map(purchases.map(purchase => [purchase.invoiceId, purchase]));
  const buyers = new Set(purchases.map(({ userId }) => String(userId)));
  const findings: string[] = [];
  for (const { invoice_id, status, payment_id, user_id } of invoices) {
    const purchase = told.get(String(invoice_id));
    told.delete(String(invoice_id));
    if (purchase === undefined) {
      findings.push(`${invoice_id} was made, and nobody was told`);
    } else if (status !== (purchase.paid ? 'paid' : 'processing')) {
      findings.push(
        `${invoice_id} is ${status}, ${purchase.paid ? 'and its transfer was' : 'and no transfer was'} taken`,
      );
    } else if (payment_id !== purchase.paymentId || String(user_id) !== String(purchase.userId)) {
      findings.push(`${invoice_id} has another payment or user than was told`);
    }
  }
  for (const { id } of users) if (!buyers.delete(String(id))) findings.push(`user ${id} was made, and nobody was told`);
  return [
    ...findings,
    ...[...told.keys()].map(invoiceId => `${invoiceId} was acknowledged and is missing`),
    ...[...buyers].map(id => `user ${id} was acknowledged and is missing`),
  ];
}

/**
 * Differences between what was done and what the receiver heard: each step of each purchase has one webhook-id. It may have
 * come more than once (at least once is the promise), but always with the same body.
 */
export function heard(deliveries: readonly Delivery[], { purchases }: Pick<LoadReport, 'purchases'>): string[] {
  const bodies = new Map<string, string>();
  const ids = new Map<string, Set<string>>();
  const findings: string[] = [];
  for (const { body, headers } of deliveries) {
    const id = headers['webhook-id'] ?? '';
    if ((bodies.get(id) ?? body) !== body) findings.push(`${id} came with two bodies`);
    bodies.set(id, body);
    const { type, data } = JSON.parse(body) as { type: string; data: Record<string, unknown> };
    const step = `${type} ${data[type.startsWith('payment.') ? 'paymentId' : 'invoiceId']}`;
    ids.set(step, (ids.get(step) ?? new Set()).add(id));
  }
  for (const { invoiceId, paymentId, paid } of purchases) {
    const steps = [`invoice.created ${invoiceId}`, `invoice.process ${invoiceId}`, `payment.created ${paymentId}`];
    if (paid) steps.push(`payment.success ${paymentId}`, `invoice.paid ${invoiceId}`);
    for (const step of steps) {
      const count = ids.get(step)?.size ?? 0;
      if (count !== 1) findings.push(`${step} was heard as ${count} webhooks`);
    }
  }
  return findings;
}
