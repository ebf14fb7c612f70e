import { Controller, Injectable } from '@nestjs/common';
import { createSubscription, type In } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import { assertBuyer, type Customer, findUser } from '../../customers/users.js';
import { announceMethod } from '../../gateways/chargeable.js';
import { assertSaved, findMethod } from '../../gateways/gateway-index.js';
import { InvoiceClosing } from '../../invoices/close.js';
import { InvoiceOutcomes } from '../../invoices/outcomes.js';
import { releaseReserved } from '../codes.js';
import { ended, isLive, type Subscription, unpaidStatuses } from '../domain/subscription.js';
import { subscriptions } from '../tables.js';
import { subscriptionAggregate, subscriptionView } from '../views.js';
import { askedForCreate } from './asked.js';
import { assertNamed, type Quote, quote, subscriberKey } from './quote.js';
import { SubscriptionStart } from './start.js';

type Input = In<typeof createSubscription>;

/** A user's other subscriptions to a product when a new one is submitted. */
@Injectable()
export class DuplicateSubscriptions {
  constructor(
    private readonly closing: InvoiceClosing,
    private readonly outcomes: InvoiceOutcomes,
  ) {}

  /** Submits of one user take turns, so that each sees what the one before it has made and used up. */
  async takeTurns(tx: Tx, userId: number): Promise<void> {
    // a question, since it changes nothing
    await tx.lockName(`subscribe ${tx.merchantId} ${userId}`);
  }

  /**
   * The answer to a submit that was made before: its subscription is young and not paid yet. A method that only the second
   * one names is charged from then on. Throws Rejected `payment_method_not_found` for one that there is not.
   */
  async repeated(tx: Tx, { userId, asked, confirmTotalAmount, paymentMethodId }: Repeat) {
    const others = await tx.all(subscriptions, { userId, asked }, 'order by subscription_id desc limit 1');
    const [other] = others.filter(({ status, createTime }) => isFresh(status, tx.now - createTime));
    if (!other || other.latestInvoiceId === '') return undefined;
    const { subscriptionId, latestInvoiceId: invoiceId } = other;
    const { status, totalAmount, link, paymentId } = await this.outcomes.lock(tx, { invoiceId }, 'invoice_not_found');
    if (status !== 'processing') return undefined;
    if (confirmTotalAmount !== undefined && BigInt(confirmTotalAmount) !== totalAmount) return undefined;
    const sub = await tx.lock(subscriptionAggregate, subscriptionId, 'subscription_not_found');
    if (!unpaidStatuses.includes(sub.status)) return undefined;
    const subscription = await withMethod(tx, sub, paymentMethodId);
    return { invoiceId, link, paid: false, paymentId, subscription };
  }

  /**
   * Makes room for a new subscription: one that is not paid yet is cancelled. Throws Rejected `subscription_exists` for one
   * that lives, `payment_under_way` for one whose first payment may be taken at any moment.
   */
  async resolve(tx: Tx, { userId, productId }: Pick<Subscription, 'userId' | 'productId'>): Promise<void> {
    const others = await tx.parts(subscriptions, { userId, productId }, 'order by subscription_id');
    const alive = others.find(({ status }) => isLive(status));
    if (alive) {
      const message = `User ${userId} has subscription ${alive.subscriptionId}, which is ${alive.status}`;
      throw new Rejected('subscription_exists', message);
    }
    for (const other of others.filter(({ status }) => unpaidStatuses.includes(status))) {
      const { latestInvoiceId: invoiceId } = other;
      const invoice = invoiceId ? await this.outcomes.lock(tx, { invoiceId }, 'invoice_not_found') : undefined;
      // cancelling its invoice ends it
      if (invoice?.status === 'processing') await this.closing.cancel(tx, invoice);
      else {
        await releaseReserved(tx, other);
        tx.step(subscriptionAggregate, ended(other, 'cancel', 'Replaced', tx.now), 'subscription.cancelled');
      }
    }
  }
}

/** subscription/create_submit. */
@Controller()
export class CreateSubscription {
  constructor(
    private readonly db: Db,
    private readonly others: DuplicateSubscriptions,
    private readonly begins: SubscriptionStart,
  ) {}

  @Handle(createSubscription)
  create(input: Input, caller: Caller) {
    return this.db.writeJoined(caller, createSubscription.name, tx => this.created(tx, input, caller));
  }

  /** Creates a subscription within a transaction of the caller. */
  async created(tx: Tx, input: Input, caller: Caller) {
    const key = subscriberKey(input);
    assertNamed(key);
    const user = assertBuyer(tx, key, await findUser(tx, key));
    await this.others.takeTurns(tx, user.id);
    const asked = await askedForCreate(tx, user, 'create', input);
    const again = await this.others.repeated(tx, { ...input, userId: user.id, asked });
    const made = again ?? (await this.begun(tx, input, caller, user, asked));
    return { action: {}, otherPendingCryptoSubscription: null, token: '', user: user.data, ...made };
  }

  private async begun(tx: Tx, input: Input, caller: Caller, user: Customer, asked: string) {
    const ids = { id: await tx.nextId(subscriptions), subscriptionId: tx.newId('sub_') };
    const quoted = await quote(tx, { ...input, asked }, user, caller, ids);
    assertQuoteConfirmed(input, quoted);
    await assertMethod(tx, quoted);
    await this.others.resolve(tx, quoted.sub);
    return this.begins.start(tx, quoted, input, 'New');
  }
}

/** The currency and total of the preview that the caller confirms. */
function assertQuoteConfirmed({ confirmCurrency, confirmTotalAmount }: Input, { sub, calculated }: Quote): void {
  if (confirmCurrency !== '' && confirmCurrency !== sub.currency) {
    throw invalid('/confirmCurrency', `is ${confirmCurrency}: the subscription is in ${sub.currency}`);
  }
  const { totalAmount } = calculated.composition.amounts;
  if (confirmTotalAmount === undefined || BigInt(confirmTotalAmount) === totalAmount) return;
  throw new Rejected('total_changed', `The total is ${totalAmount}, not ${confirmTotalAmount}`);
}

/** The payment method that is named, or that the trial of the plan demands. */
async function assertMethod(tx: Tx, { sub, plan }: Quote): Promise<void> {
  const { gatewayId, userId, paymentMethodId: methodId, trialEnd } = sub;
  await assertSaved(tx, { gatewayId, userId, methodId });
  const isDemanded = trialEnd > 0 && plan.trialDemand === 'paymentMethod';
  if (!isDemanded || (await findMethod(tx, { gatewayId, userId, methodId }))) return;
  throw invalid('/paymentMethodId', 'is required: the trial of the plan needs a saved payment method');
}

/** Age up to which the same request for a subscription that is not paid yet is answered with it again. */
const REPEAT_SECONDS = 600;

/** A submit that may be the second of two equal ones. */
interface Repeat {
  userId: number;
  asked: string;
  confirmTotalAmount?: number | undefined;
  paymentMethodId: string;
}

const isFresh = (status: Subscription['status'], age: number): boolean =>
  unpaidStatuses.includes(status) && age < REPEAT_SECONDS;

/** The view of a subscription, which is charged with the method from now on where one is named. */
async function withMethod(tx: Tx, sub: Subscription, methodId: string) {
  if (methodId === '' || methodId === sub.paymentMethodId) return subscriptionView(sub);
  const { gatewayId, userId } = sub;
  await assertSaved(tx, { gatewayId, userId, methodId });
  const changed = { ...sub, paymentMethodId: methodId, modifyTime: tx.now };
  announceMethod(tx, { gatewayId, userId, methodId: '' });
  return tx.step(subscriptionAggregate, changed, 'subscription.updated', { log: 'ChangeMethod' }).view;
}
