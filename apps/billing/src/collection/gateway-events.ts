import { Controller, Inject, Injectable } from '@nestjs/common';
import { gatewayCallback, type In, wrongSignature } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import {
  type Caller,
  CLOCK,
  type Clock,
  Db,
  fetchedWork,
  Handle,
  LOG,
  type Log,
  systemCaller,
  type Tx,
  type Work,
  type WorkItem,
} from '@recur/platform';
import { type DisputeEvent, type GatewayEvent, UnreadableReport } from '../gateways/adapters/adapter.js';
import { GatewayAdapters } from '../gateways/adapters/adapters.js';
import { SANDBOX_CALLBACK, Sandbox } from '../gateways/adapters/sandbox.js';
import { userAtGateway } from '../gateways/chargeable.js';
import { GatewayCredentials } from '../gateways/credentials.js';
import { getGateway, merchantOfGateway } from '../gateways/gateway-index.js';
import { keepMethod } from '../gateways/payment-methods.js';
import { sendingOf } from '../invoices/domain/charge.js';
import { InvoiceOutcomes } from '../invoices/outcomes.js';
import { payments } from '../invoices/payment-tables.js';
import { Disputes } from '../refunds/disputes.js';
import { tellMismatch } from '../refunds/mismatches.js';
import { RefundReports } from '../refunds/sending.js';
import { ChargeSettlement } from './settlement.js';

/** A callback as it arrived. */
interface Callback {
  gatewayId: number;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
}

/** Applies what gateways report by themselves. Each report takes effect once, however often and in whatever order it comes. */
@Injectable()
export class GatewayEvents {
  constructor(
    private readonly settlement: ChargeSettlement,
    private readonly refunds: RefundReports,
    private readonly disputes: Disputes,
    private readonly outcomes: InvoiceOutcomes,
  ) {}

  /** Applies events of one gateway. `receivedAt` is in unix seconds on the machine's clock. */
  async apply(
    tx: Tx,
    gatewayId: number,
    events: readonly GatewayEvent[],
    requestId: string,
    receivedAt: number,
  ): Promise<void> {
    for (const [at, event] of events.entries()) {
      const own = tx.item({ requestId: at === 0 ? requestId : `${requestId}_${at}` });
      const name = [own.merchantId, gatewayId, event.id];
      if ((await own.query(seenEvent, name)).length > 0) continue;
      // an event that changes nothing is not kept: it would change nothing the next time either
      if (await this.applyOne(own, gatewayId, event)) await own.run(insertEvent, [...name, receivedAt]);
    }
  }

  /** Returns true if it changed something, with its log entry. */
  private async applyOne(tx: Tx, gatewayId: number, event: GatewayEvent): Promise<boolean> {
    switch (event.about) {
      case 'charge': {
        const sending = sendingOf(event.idempotencyKey);
        if (!sending) return false;
        return this.settlement.report(tx, { ...sending, gatewayId, by: 'callback', outcome: event.outcome });
      }
      case 'refund':
        return this.refunds.report(tx, { refundId: event.idempotencyKey, gatewayId, outcome: event.outcome });
      case 'dispute':
        return this.dispute(tx, gatewayId, event);
      case 'method':
        return savePageMethod(tx, gatewayId, event);
    }
  }

  /** A chargeback of a charge that was collected for an invoice; others are of no interest. */
  private async dispute(tx: Tx, gatewayId: number, event: DisputeEvent): Promise<boolean> {
    const { reference, amount, currency } = event;
    if (reference === '') return false;
    const charged = await tx.find(payments, { gatewayId, gatewayPaymentId: reference });
    const locked = charged && (await this.outcomes.lockCharge(tx, charged.paymentId));
    const isCurrent = locked?.invoice.paymentId === charged?.paymentId && locked?.payment.status === 'success';
    if (!locked || !isCurrent) return false;
    if (currency !== locked.payment.currency || amount <= 0n) {
      const reason = amount > 0n ? 'currency' : 'amount';
      const disputed = { gatewayId, reference, amount, currency, expected: locked.payment.paymentAmount, refundId: '' };
      // refunds are held up meanwhile, whatever the amount; how much is lost then, a person has to say
      const isApplied = event.state !== 'lost' && this.disputes[event.state](tx, locked.invoice);
      const payment = await tx.lock(payments, { paymentId: locked.payment.paymentId }, 'payment_not_found');
      const isNew = await tellMismatch(tx, payment, { about: 'dispute', reason, ...disputed }, !isApplied);
      return isNew || isApplied;
    }
    if (event.state === 'lost') return this.disputes.lost(tx, locked.invoice, amount);
    return this.disputes[event.state](tx, locked.invoice);
  }
}

/** Callbacks of gateways: from the network, and those that the sandbox gateway delivers. */
@Controller()
export class GatewayCallbacks {
  readonly work: Work;

  constructor(
    private readonly db: Db,
    private readonly adapters: GatewayAdapters,
    private readonly answers: GatewayCredentials,
    private readonly events: GatewayEvents,
    private readonly sandbox: Sandbox,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
  ) {
    this.work = fetchedWork(
      SANDBOX_CALLBACK,
      { time: 'merchant', batch: 1, logged: false },
      ([item]) => this.fromSandbox(item as WorkItem),
      async (tx, [item], delivery) => {
        if (!item || !delivery) return;
        await this.take(tx, delivery.gatewayId, delivery.events, item.requestId);
        await this.sandbox.taken(tx, Number(item.key));
      },
    );
  }

  @Handle(gatewayCallback)
  async receive({ gatewayId, headers, base64 }: In<typeof gatewayCallback>, caller: Caller) {
    const merchantId = await merchantOfGateway(this.db, gatewayId);
    if (merchantId === undefined) throw new Rejected('credential_invalid', wrongSignature);
    const { requestId, deadline, traceparent } = caller;
    const system = systemCaller(merchantId, requestId, deadline, traceparent);
    const events = await this.parseEvents(system, { gatewayId, headers, body: Buffer.from(base64, 'base64') }).catch(
      error => this.noneIfUnreadable(error, { gatewayId, merchantId, requestId }),
    );
    if (events.length > 0) {
      await this.db.write(system, async tx => {
        await this.take(tx, gatewayId, events, requestId);
        return {};
      });
    }
    return {};
  }

  /** No events, and a warning: a gateway repeats what is not answered with success, for days, and may then give up. */
  private noneIfUnreadable(error: unknown, of: object): GatewayEvent[] {
    if (!(error instanceof UnreadableReport)) throw error;
    this.log.warn({ ...of, event: error.id, type: error.type, err: error.cause }, 'a callback could not be read');
    return [];
  }

  /** Throws Rejected `credential_invalid`, UnreadableReport, and what the adapter throws. */
  private async parseEvents(caller: Caller, { gatewayId, headers, body }: Callback): Promise<GatewayEvent[]> {
    const gateway = await this.db.read(caller, reader => getGateway(reader, gatewayId));
    const adapter = this.adapters.of(gateway.gatewayName);
    if (!adapter) throw new Rejected('credential_invalid', wrongSignature);
    const events = await adapter.callback(this.answers.account(gateway), headers, body, this.now());
    if (!events) throw new Rejected('credential_invalid', wrongSignature);
    return events;
  }

  private async fromSandbox({ merchantId, key, requestId }: WorkItem) {
    const planned = await this.sandbox.planned(merchantId, Number(key));
    if (!planned) return undefined;
    const { gatewayId, delivery } = planned;
    const caller = systemCaller(merchantId, requestId, Number.POSITIVE_INFINITY);
    return { gatewayId, events: await this.parseEvents(caller, { gatewayId, ...delivery }) };
  }

  private take(tx: Tx, gatewayId: number, events: readonly GatewayEvent[], requestId: string): Promise<void> {
    return this.events.apply(tx, gatewayId, events, requestId, this.now());
  }

  private now(): number {
    return Math.floor(this.clock.wall() / 1000);
  }
}

const seenEvent = 'select 1 from gateway_facts where merchant_id = $1 and gateway_id = $2 and fact_id = $3';
const insertEvent = `insert into gateway_facts (merchant_id, gateway_id, fact_id, received_at) values ($1, $2, $3, $4)
  on conflict do nothing`;

async function savePageMethod(
  tx: Tx,
  gatewayId: number,
  event: Extract<GatewayEvent, { about: 'method' }>,
): Promise<boolean> {
  const user = await userAtGateway(tx, gatewayId, event.gatewayUserId);
  if (!user) return false;
  const { userId } = user;
  const { isNew } = await keepMethod(tx, { gatewayId, userId }, event.method);
  if (isNew) tx.log(`User(${userId})`, 'NewPaymentMethod', { userId });
  return isNew;
}
