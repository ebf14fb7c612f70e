import { Controller } from '@nestjs/common';
import { createFrom, createSubscription, type In } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import { assertBuyer, findUser } from '../../customers/users.js';
import { findMethod } from '../../gateways/lookup.js';
import { useDiscount } from '../../invoicing/composed/discount-use.js';
import { InvoiceMaker } from '../../invoicing/composed/make.js';
import { firstInvoiceDeadline } from '../../invoicing/domain/dunning.js';
import { subscriptionAggregate } from '../aggregate.js';
import { notBilled } from '../domain/periods.js';
import { activated, moved, type Subscription } from '../domain/subscription.js';
import { scheduleNext } from '../schedule.js';
import { subscriptionPeriods, subscriptions } from '../tables.js';
import { subscriptionView } from '../views.js';
import { Others } from './others.js';
import { type Quote, quote } from './quote.js';
import { assertNamed, userKeyOf } from './user-key.js';

type Input = In<typeof createSubscription>;

/** subscription/create_submit. */
@Controller()
export class Subscribing {
  constructor(
    private readonly db: Db,
    private readonly maker: InvoiceMaker,
    private readonly others: Others,
  ) {}

  @Handle(createSubscription)
  create(input: Input, caller: Caller) {
    return this.db.write(caller, async tx => {
      const key = userKeyOf(input);
      assertNamed(key);
      const user = assertBuyer(tx, key, await findUser(tx, key));
      const ids = { id: await tx.nextId(subscriptions), subscriptionId: tx.newId('sub_') };
      const quoted = await quote(tx, input, user, caller, ids);
      assertConfirmed(input, quoted);
      await assertMethod(tx, quoted);
      const again = await this.others.replace(tx, quoted);
      const made = again ?? (await this.make(tx, quoted, input));
      return { action: {}, otherPendingCryptoSubscription: null, token: '', user: user.data, ...made };
    });
  }

  /** Saves the subscription with its first period and invoice. Without anything to pay it is active at once. */
  async make(
    tx: Tx,
    quoted: Quote,
    { startIncomplete, ...input }: Pick<Input, 'startIncomplete' | 'metadata'> & Details,
  ) {
    const { composed, settings, start } = quoted;
    const hasInvoice = composed.bill.items.length > 0;
    const invoiceId = hasInvoice ? tx.newId('in_') : '';
    const used = await useDiscount(tx, composed, invoiceId);
    const deadline = firstInvoiceDeadline(tx.now, settings.firstInvoiceDays);
    const { code = '', discountId = 0, recurring = false, waitingUseId = 0 } = used ?? {};
    const isBound = used !== undefined && (recurring || waitingUseId > 0);
    const sub: Subscription = {
      ...quoted.sub,
      latestInvoiceId: invoiceId,
      discount: isBound ? { discountId, code, recurring, waitingUseId } : null,
      currentPeriodPaid: hasInvoice ? deadline : 1,
    };
    const { merchantId, subscriptionId, userId } = sub;
    tx.onConflict('subscriptions_one_live', () => new Rejected('subscription_exists'));
    tx.step(subscriptionAggregate, sub, 'subscription.created', { log: 'New' });
    const { kind, start: startAt, end: endAt } = start.period;
    const row = {
      merchantId,
      subscriptionId,
      seq: 1,
      userId,
      kind,
      startAt,
      endAt,
      invoiceId,
      createTime: tx.now,
      ...notBilled,
    };
    const details = { checkout: checkoutOf(input) };
    const making = { status: 'open', createFrom: createFrom.api, deadline, invoiceId, details } as const;
    const made = hasInvoice ? await this.maker.make(tx, composed, making) : undefined;
    const paid = made === undefined || made.payment === undefined;
    tx.save(subscriptionPeriods, { ...row, state: paid ? 'paid' : 'open' });
    const result = begun(tx, sub, paid, startIncomplete);
    scheduleNext(tx, result);
    const { link = '', paymentId = '' } = made?.view ?? {};
    return { invoiceId, link, paid, paymentId, subscription: subscriptionView(result) };
  }
}

type Details = Pick<Input, 'gatewayPaymentType' | 'paymentUIMode' | 'returnUrl' | 'cancelUrl'>;

function begun(tx: Tx, sub: Subscription, paid: boolean, startIncomplete: boolean): Subscription {
  if (paid) {
    const active = activated(sub, tx.now);
    tx.step(subscriptionAggregate, active, 'subscription.activated');
    return active;
  }
  if (!startIncomplete) return sub;
  const incomplete = moved(sub, 'suspend', tx.now);
  tx.step(subscriptionAggregate, incomplete, 'subscription.updated');
  return incomplete;
}

/** The currency and total of the preview that the caller confirms. */
function assertConfirmed({ confirmCurrency, confirmTotalAmount }: Input, { sub, composed }: Quote): void {
  if (confirmCurrency !== '' && confirmCurrency !== sub.currency) {
    throw invalid('/confirmCurrency', `is ${confirmCurrency}: the subscription is in ${sub.currency}`);
  }
  const { totalAmount } = composed.composition.amounts;
  if (confirmTotalAmount === undefined || BigInt(confirmTotalAmount) === totalAmount) return;
  throw new Rejected('total_changed', `The total is ${totalAmount}, not ${confirmTotalAmount}`);
}

/** The payment method that is named, or that the trial of the plan demands. */
async function assertMethod(tx: Tx, { sub, plan }: Quote): Promise<void> {
  const { gatewayId, userId, paymentMethodId: methodId, trialEnd } = sub;
  const demanded = trialEnd > 0 && plan.trialDemand === 'paymentMethod';
  if (methodId === '' && !demanded) return;
  if (await findMethod(tx, { gatewayId, userId, methodId })) return;
  if (methodId !== '') throw new Rejected('payment_method_not_found');
  throw invalid('/paymentMethodId', 'is required: the trial of the plan needs a saved payment method');
}

const checkoutOf = (details: Details & Pick<Input, 'metadata'>) => ({ gasPayer: '' as const, ...details });
