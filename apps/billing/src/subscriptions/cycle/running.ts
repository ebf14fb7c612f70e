import { Controller } from '@nestjs/common';
import { activateTemporarily, changeGateway, type In, resumeSubscription } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle } from '@recur/platform';
import { announceMethod } from '../../gateways/chargeable.js';
import { usableGateway } from '../../gateways/domain/gateway.js';
import { allGateways, assertSaved } from '../../gateways/lookup.js';
import { invoiceAggregate } from '../../invoicing/aggregates.js';
import { openInvoicesOf } from '../../invoicing/composed/open-invoices.js';
import { InvoiceOwners } from '../../invoicing/owners.js';
import { InvoicePaying } from '../../invoicing/paying/pay.js';
import { subscriptionAggregate } from '../aggregate.js';
import { hasEnded } from '../domain/lifecycle.js';
import { moved, type Subscription } from '../domain/subscription.js';
import { periodsFrom } from '../periods.js';
import { NEXT } from '../schedule.js';
import { subscriptionPeriods } from '../tables.js';

const longestGrant = 30 * 86_400;

/** Operations on the course of a subscription: active_temporarily, change_gateway, resume. */
@Controller()
export class RunningSubscriptions {
  constructor(
    private readonly db: Db,
    private readonly owners: InvoiceOwners,
    private readonly paying: InvoicePaying,
  ) {}

  /** Usable until a time, which becomes the deadline of its open invoice. */
  @Handle(activateTemporarily)
  grant({ subscriptionId, expireTime }: In<typeof activateTemporarily>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const sub = await tx.lock(subscriptionAggregate, subscriptionId, 'subscription_not_found');
      if (expireTime <= tx.now || expireTime > tx.now + longestGrant) {
        throw invalid('/expireTime', `must be after ${tx.now} and at most 30 days after it`);
      }
      if (sub.status === 'active') throw wrongState(sub, 'grant it time');
      const granted = { ...moved(sub, 'suspend', tx.now), currentPeriodPaid: expireTime };
      tx.step(subscriptionAggregate, granted, 'subscription.updated', { log: 'ActiveTemporarily' });
      for (const row of await periodsFrom(tx, subscriptionId, sub.currentPeriodStart)) {
        if (row.state !== 'open') continue;
        tx.save(subscriptionPeriods, { ...row, deadline: expireTime });
        const { invoiceId } = row;
        const invoice = await this.owners.lock(tx, { invoiceId }, 'invoice_not_found');
        if (invoice.status !== 'processing') continue;
        tx.step(invoiceAggregate, { ...invoice, deadline: expireTime }, 'invoice.updated');
        tx.schedule('invoice.expire', invoiceId, expireTime);
      }
      tx.schedule(NEXT, subscriptionId, tx.now);
      return {};
    });
  }

  @Handle(changeGateway)
  changeGateway(input: In<typeof changeGateway>, caller: Caller) {
    const { subscriptionId, gatewayId, gatewayPaymentType, paymentMethodId } = input;
    return this.db.write(caller, async tx => {
      const sub = await tx.lock(subscriptionAggregate, subscriptionId, 'subscription_not_found');
      if (hasEnded(sub.status)) throw wrongState(sub, 'change its gateway');
      const gateway = usableGateway(await allGateways(tx), gatewayId);
      const named = { gatewayId, userId: sub.userId, methodId: paymentMethodId };
      await assertSaved(tx, named);
      const changed = { ...sub, gatewayId, gatewayPaymentType, paymentMethodId, modifyTime: tx.now };
      tx.step(subscriptionAggregate, changed, 'subscription.updated', { log: 'ChangeGateway' });
      for (const invoiceId of await openInvoicesOf(tx, subscriptionId)) {
        const invoice = await this.owners.lock(tx, { invoiceId }, 'invoice_not_found');
        await this.paying.move(tx, invoice, gateway, { automatic: !sub.manualPayment });
      }
      // other subscriptions of the user keep the methods that they are charged with
      announceMethod(tx, { ...named, methodId: '' });
      return {};
    });
  }

  /** Takes up the billing of a parked subscription: what was missed is billed, one period per retry interval. */
  @Handle(resumeSubscription)
  resume({ subscriptionId }: In<typeof resumeSubscription>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const sub = await tx.lock(subscriptionAggregate, subscriptionId, 'subscription_not_found');
      if (sub.parkedReason === '') throw new Rejected('subscription_not_parked');
      const resumed = { ...sub, parkedReason: '', parkedAt: tx.now, modifyTime: tx.now };
      tx.schedule(NEXT, subscriptionId, tx.now);
      return { subscription: tx.step(subscriptionAggregate, resumed, 'subscription.updated', { log: 'Resume' }) };
    });
  }
}

const wrongState = ({ subscriptionId, status }: Subscription, move: string) =>
  new Rejected('subscription_wrong_state', `Subscription ${subscriptionId} is ${status}: cannot ${move}`);
