import { Injectable } from '@nestjs/common';
import type { Tx } from '@recur/platform';
import type { DisputeFact, Fact } from '../../gateways/adapters/adapter.js';
import { userAtGateway } from '../../gateways/chargeable.js';
import { keepMethod } from '../../gateways/payment-methods.js';
import { sendingOf } from '../domain/charge.js';
import { tellMismatch } from '../mismatches.js';
import { InvoiceOwners } from '../owners.js';
import { Disputes } from '../refunds/disputes.js';
import { RefundReports } from '../refunds/sending.js';
import { payments } from '../tables.js';
import { lockCharge } from './lock.js';
import { Settlement } from './settlement.js';

const seen = 'select 1 from gateway_facts where merchant_id = $1 and gateway_id = $2 and fact_id = $3';
const keep = `insert into gateway_facts (merchant_id, gateway_id, fact_id, received_at) values ($1, $2, $3, $4)
  on conflict do nothing`;

/** Applies what gateways report by themselves. Each report takes effect once, however often and in whatever order it comes. */
@Injectable()
export class GatewayFacts {
  constructor(
    private readonly settlement: Settlement,
    private readonly refunds: RefundReports,
    private readonly disputes: Disputes,
    private readonly owners: InvoiceOwners,
  ) {}

  /** Applies facts of one gateway. `receivedAt` is in unix seconds on the machine's clock. */
  async apply(tx: Tx, gatewayId: number, facts: readonly Fact[], requestId: string, receivedAt: number): Promise<void> {
    for (const [at, fact] of facts.entries()) {
      const own = tx.item({ requestId: at === 0 ? requestId : `${requestId}_${at}` });
      const name = [own.merchantId, gatewayId, fact.id];
      if ((await own.query(seen, name)).length > 0) continue;
      // a fact that changes nothing is not kept: it would change nothing the next time either
      if (await this.applyOne(own, gatewayId, fact)) await own.run(keep, [...name, receivedAt]);
    }
  }

  /** Returns true if it changed something, with its log entry. */
  private async applyOne(tx: Tx, gatewayId: number, fact: Fact): Promise<boolean> {
    switch (fact.about) {
      case 'charge': {
        const sending = sendingOf(fact.idempotencyKey);
        if (!sending) return false;
        return this.settlement.report(tx, { ...sending, gatewayId, by: 'callback', outcome: fact.outcome });
      }
      case 'refund':
        return this.refunds.report(tx, { refundId: fact.idempotencyKey, gatewayId, outcome: fact.outcome });
      case 'dispute':
        return this.dispute(tx, gatewayId, fact);
      case 'method':
        return saveMethod(tx, gatewayId, fact);
    }
  }

  /** A chargeback of a charge that was collected for an invoice; others are of no interest. */
  private async dispute(tx: Tx, gatewayId: number, fact: DisputeFact): Promise<boolean> {
    const { reference, amount, currency } = fact;
    if (reference === '') return false;
    const charged = await tx.find(payments, { gatewayId, gatewayPaymentId: reference });
    const locked = charged && (await lockCharge(tx, this.owners, charged.paymentId));
    const isCurrent = locked?.invoice.paymentId === charged?.paymentId && locked?.payment.status === 'success';
    if (!locked || !isCurrent) return false;
    if (currency !== locked.payment.currency || amount <= 0n) {
      const reason = amount > 0n ? 'currency' : 'amount';
      const disputed = { gatewayId, reference, amount, currency, expected: locked.payment.paymentAmount, refundId: '' };
      // refunds are held up meanwhile, whatever the amount; how much is lost then, a person has to say
      const isApplied = fact.state !== 'lost' && this.disputes[fact.state](tx, locked.invoice);
      const payment = await tx.lock(payments, { paymentId: locked.payment.paymentId }, 'payment_not_found');
      const isNew = await tellMismatch(tx, payment, { about: 'dispute', reason, ...disputed }, !isApplied);
      return isNew || isApplied;
    }
    if (fact.state === 'lost') return this.disputes.lost(tx, locked.invoice, amount);
    return this.disputes[fact.state](tx, locked.invoice);
  }
}

async function saveMethod(tx: Tx, gatewayId: number, fact: Extract<Fact, { about: 'method' }>): Promise<boolean> {
  const user = await userAtGateway(tx, gatewayId, fact.gatewayUserId);
  if (!user) return false;
  const { userId } = user;
  const { isNew } = await keepMethod(tx, { gatewayId, userId }, fact.method);
  if (isNew) tx.log(`User(${userId})`, 'NewPaymentMethod', { userId });
  return isNew;
}
