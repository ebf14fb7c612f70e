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
import { findGateway } from '../../gateways/gateway-index.js';
import type { InvoiceInput } from '../../invoices/domain/items.js';
import { calculateInvoice } from '../../invoices/issuing/calculate.js';
import { previewOf } from '../../invoices/issuing/preview.js';
import { invoicesById } from '../../invoices/lists/details.js';
import { draftNameOf, nextInvoiceOf } from '../../invoices/open-invoices.js';
import { Arrears } from '../arrears.js';
import { newPeriodCharge } from '../change/next-period.js';
import {
  deferredOf,
  type Following,
  firstAfter,
  firstToBill,
  type UpcomingInvoice,
  upcomingInvoice,
} from '../change/upcoming-invoice.js';
import { unfinishedUpdates } from '../change/views.js';
import { finalInput, renewalInput } from '../domain/invoice-input.js';
import { lastUsageEnd } from '../domain/items-to-bill.js';
import { pendingInvoiceItem } from '../domain/pending-items.js';
import type { PeriodRow } from '../domain/periods.js';
import { endsWithPeriod, periodOf } from '../domain/renewal.js';
import { pricedFrom } from '../domain/repricing.js';
import { hasEnded, type Subscription } from '../domain/subscription.js';
import { afterDeferred } from '../pending-update.js';
import { periodsFrom } from '../periods.js';
import { nextInvoiceMoment } from '../schedule.js';
import { subscriptions } from '../tables.js';
import { subscriptionView } from '../views.js';

type Input = In<typeof previewNextInvoice>;

const emptyUpdate = emptyOf(PreviewInvoice);

/** subscription/preview_subscription_next_invoice. It reads in a read-only transaction. */
@Controller()
export class NextInvoicePreview {
  constructor(
    private readonly db: Db,
    private readonly arrears: Arrears,
  ) {}

  @Handle(previewNextInvoice)
  preview(input: Input, caller: Caller) {
    return this.db.read(caller, async reader => {
      const sub = await subscriptionNamed(reader, input);
      const update = (await unfinishedUpdates(reader, [sub.pendingUpdateId])).get(sub.pendingUpdateId);
      const invoice = await followingInvoice(reader, this.arrears, sub);
      return {
        invoice: withUpdate(invoice, update),
        subscription: subscriptionView(sub),
        subscriptionPendingUpdate: update ?? null,
      };
    });
  }
}

/** The subscription with the id; else the newest of a user to a product that is not over. */
async function subscriptionNamed(
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
async function followingInvoice(reader: Reader, arrears: Arrears, sub: Subscription): Promise<Invoice> {
  const { subscriptionId, status, currentPeriodStart, currentPeriodEnd } = sub;
  const isUnpaid = status !== 'active';
  const isOpen = !hasEnded(status) && (isUnpaid || !endsWithPeriod(sub));
  const from = isUnpaid ? currentPeriodStart : currentPeriodEnd;
  const live = isOpen ? await nextInvoiceOf(reader, subscriptionId, from) : undefined;
  const invoice = live && (await invoicesById(reader, [live])).get(live);
  if (invoice) return invoice;
  const last = await lastPeriod(reader, sub);
  if (last) return calculated(reader, sub, await lastUsage(reader, arrears, sub, last));
  const moment = nextInvoiceMoment(reader, sub);
  const rows = await periodsFrom(reader, subscriptionId, currentPeriodStart);
  const paid = rows.find(({ startAt, state }) => startAt === currentPeriodEnd && state === 'paid');
  if (paid) return oncePaid(reader, arrears, sub, paid);
  const next = await nextOrDraft(reader, arrears, sub, { moment, rows });
  if (!next) throw none(sub, 'ends with its trial');
  return calculated(reader, next.sub, next.input);
}

/**
 * The next invoice once the next period is paid, or free: that of the period after it, or the document of a deferred change
 * that charges it again.
 */
async function oncePaid(reader: Reader, arrears: Arrears, sub: Subscription, paid: PeriodRow): Promise<Invoice> {
  const update = await deferredOf(reader, sub);
  const after = pricedFrom(update ? afterDeferred(sub, update) : sub, paid.startAt);
  const charge = update && (await newPeriodCharge(reader, { sub, after }, paid));
  if (charge) return calculated(reader, after, charge.input);
  const period = periodOf(sub, paid);
  const { sub: then } = await upcomingInvoice(reader, sub, { arrears, moment: reader.now, known: period });
  const next = await firstAfter({ sub: then, period }, following(reader, arrears));
  if (!next) throw none(sub, 'ends with its trial');
  return calculated(reader, next.sub, next.input);
}

const following =
  (reader: Reader, arrears: Arrears): Following =>
  then =>
    upcomingInvoice(reader, then, { arrears, moment: nextInvoiceMoment(reader, then) });

async function calculated(reader: Reader, { gatewayId }: Subscription, bill: InvoiceInput): Promise<Invoice> {
  const [gateway, sellerCountryCode] = await Promise.all([findGateway(reader, gatewayId), sellerCountry(reader)]);
  return previewOf(reader, await calculateInvoice(reader, bill, { gateway, sellerCountryCode }));
}

/**
 * The invoice of the current period, where usage has it made after the period's start: its draft as it would be finished
 * now, or the one that replaces it where it was cancelled. Else that of the next period that bills something; undefined
 * where it ends before.
 */
async function nextOrDraft(
  reader: Reader,
  arrears: Arrears,
  sub: Subscription,
  { moment, rows }: { moment: number; rows: readonly PeriodRow[] },
): Promise<Pick<UpcomingInvoice, 'sub' | 'input'> | undefined> {
  const waiting = rows.find(
    ({ startAt, finishAt, remakeAt, state }) =>
      startAt === sub.currentPeriodStart && state === 'open' && (finishAt > 0 || remakeAt > 0),
  );
  if (!waiting) return firstToBill(await upcomingInvoice(reader, sub, { arrears, moment }), following(reader, arrears));
  const others = [...sub.carried.map(pendingInvoiceItem), ...(await arrears.items(reader, sub, waiting.startAt))];
  const finish = Math.max(reader.now, waiting.remakeAt);
  const input = renewalInput(sub, periodOf(sub, waiting), others, finish);
  // the draft of a deferred change keeps its name
  return { sub, input: { ...input, name: (await draftNameOf(reader, waiting.invoiceId)) ?? input.name } };
}

/** Why no invoice follows for a subscription: the message of preview_subscription_next_invoice; '' where one does. */
export async function whyNoneFollows(reader: Reader, arrears: Arrears, sub: Subscription): Promise<string> {
  try {
    const last = await lastPeriod(reader, sub);
    if (last && (sub.status === 'active' || hasEnded(sub.status))) await lastUsage(reader, arrears, sub, last);
    // a trial that is left may have nothing to bill
    if (!last && sub.cancelAtPeriodEnd && sub.status === 'active') await followingInvoice(reader, arrears, sub);
    return '';
  } catch (error) {
    if (error instanceof Rejected && error.slug === WITHOUT) return error.message;
    throw error;
  }
}

/**
 * The usage that is left to bill of a subscription that is over, or ends with its period; undefined for one that goes on.
 * Throws Rejected `subscription_without_next_invoice` for one that is over with all of its usage billed.
 */
async function lastPeriod(reader: Reader, sub: Subscription): Promise<{ until: number; moment: number } | undefined> {
  const { subscriptionId, currentPeriodStart, currentPeriodEnd, cancelTime, status } = sub;
  if (!hasEnded(status)) {
    if (!endsWithPeriod(sub)) return undefined;
    return { until: currentPeriodEnd, moment: nextInvoiceMoment(reader, sub) };
  }
  const rows = await periodsFrom(reader, subscriptionId, currentPeriodStart);
  const waiting = rows.find(({ startAt, finishAt }) => startAt === currentPeriodStart && finishAt > 0);
  if (!waiting) throw none(sub, `is ${status}`);
  return { until: lastUsageEnd(sub, cancelTime), moment: Math.max(reader.now, waiting.finishAt) };
}

/** The final invoice of a subscription that ends with its period: what it used, and what was carried. */
async function lastUsage(
  reader: Reader,
  arrears: Arrears,
  sub: Subscription,
  { until, moment }: { until: number; moment: number },
): Promise<InvoiceInput> {
  const usage = await arrears.items(reader, sub, until);
  if (usage.length === 0) throw none(sub, 'ends with its period');
  return finalInput({ ...sub, carried: [] }, usage, moment, 'usage');
}

const WITHOUT = 'subscription_without_next_invoice';
const none = ({ subscriptionId }: Subscription, why: string) =>
  new Rejected(WITHOUT, `Subscription ${subscriptionId} ${why}: there is no next invoice`);

/** The invoice with the pending change that it applies. */
function withUpdate(invoice: Invoice, update: SubscriptionPendingUpdate | undefined): PreviewInvoice {
  const { updatePlan, updateAmount, updateCurrency, updatePlanId, updateQuantity } = update ?? emptyUpdate;
  return { ...invoice, updatePlan, updateAmount, updateCurrency, updatePlanId, updateQuantity };
}
