import { Controller } from '@nestjs/common';
import {
  emptyOf,
  type In,
  type Invoice,
  PreviewInvoice,
  previewNextInvoice,
  type SubscriptionPendingUpdate,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Reader } from '@recur/platform';
import { sellerCountry } from '../../customers/merchants.js';
import { findUser } from '../../customers/users.js';
import { findGateway } from '../../gateways/lookup.js';
import { compose } from '../../invoicing/composed/compose.js';
import { nextInvoiceOf } from '../../invoicing/composed/open-invoices.js';
import { previewOf } from '../../invoicing/composed/preview.js';
import { invoicesById } from '../../invoicing/lists/details.js';
import { hasEnded } from '../domain/lifecycle.js';
import type { Subscription } from '../domain/subscription.js';
import { nextBill } from '../next-bill.js';
import { leadOf } from '../schedule.js';
import { subscriptions } from '../tables.js';
import { subscriptionView } from '../views.js';
import { unfinishedUpdates } from './unfinished.js';

type Input = In<typeof previewNextInvoice>;

const emptyUpdate = emptyOf(PreviewInvoice);

/** subscription/preview_subscription_next_invoice. It reads in a read-only transaction. */
@Controller()
export class NextInvoicePreview {
  constructor(private readonly db: Db) {}

  @Handle(previewNextInvoice)
  preview(input: Input, caller: Caller) {
    return this.db.read(caller, async reader => {
      const sub = await named(reader, input);
      const update = (await unfinishedUpdates(reader, [sub.pendingUpdateId])).get(sub.pendingUpdateId);
      const invoice = await nextOf(reader, sub);
      return {
        invoice: withUpdate(invoice, update),
        subscription: subscriptionView(sub),
        subscriptionPendingUpdate: update ?? null,
      };
    });
  }
}

/** The subscription with the id; else the newest of a user to a product that is not over. */
async function named(
  reader: Reader,
  { subscriptionId, userId, externalUserId, productId }: Input,
): Promise<Subscription> {
  if (subscriptionId) return reader.get(subscriptions, { subscriptionId }, 'subscription_not_found');
  const user = await findUser(reader, userId === undefined ? { externalUserId: externalUserId ?? '' } : { userId });
  if (!user) throw new Rejected('user_not_found');
  const all = await reader.all(subscriptions, { userId: user.id, productId }, 'order by create_time desc, id desc');
  const current = all.find(({ status }) => !hasEnded(status) && status !== 'init');
  if (!current) throw new Rejected('subscription_not_found', 'The user has no subscription to this product');
  return current;
}

/** The live next invoice where there is one, else what the billing cycle would make. */
async function nextOf(reader: Reader, sub: Subscription): Promise<Invoice> {
  const { subscriptionId, status, currentPeriodStart, currentPeriodEnd, cancelAtPeriodEnd, trialEnd } = sub;
  if (hasEnded(status)) throw none(sub, `is ${status}`);
  const isUnpaid = status === 'pending' || status === 'processing' || status === 'init';
  const live = await nextInvoiceOf(reader, subscriptionId, isUnpaid ? currentPeriodStart : currentPeriodEnd);
  const invoice = live && (await invoicesById(reader, [live])).get(live);
  if (invoice) return invoice;
  if (cancelAtPeriodEnd) throw none(sub, 'ends with its period');
  const moment = Math.max(reader.now, Math.max(currentPeriodEnd, trialEnd) - leadOf(sub));
  const [{ bill }, gateway, sellerCountryCode] = await Promise.all([
    nextBill(reader, sub, moment),
    findGateway(reader, sub.gatewayId),
    sellerCountry(reader),
  ]);
  return previewOf(reader, await compose(reader, bill, { gateway, sellerCountryCode }));
}

const none = ({ subscriptionId }: Subscription, why: string) =>
  new Rejected('subscription_without_next_invoice', `Subscription ${subscriptionId} ${why}: there is no next invoice`);

/** The invoice with the pending change that it applies. */
function withUpdate(invoice: Invoice, update: SubscriptionPendingUpdate | undefined): PreviewInvoice {
  const { updatePlan, updateAmount, updateCurrency, updatePlanId, updateQuantity } = update ?? emptyUpdate;
  return { ...invoice, updatePlan, updateAmount, updateCurrency, updatePlanId, updateQuantity };
}
