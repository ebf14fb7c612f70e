import {
  connectionStatus,
  creditRechargeStatus,
  discountStatus,
  emailStatus,
  endpointStatus,
  invoiceStatus,
  memberStatus,
  onetimeAddonStatus,
  paymentStatus,
  pendingUpdateStatus,
  planStatus,
  productStatus,
  publishStatus,
  refundStatus,
  replayStatus,
  subscriptionStatus,
  subscriptionTimelineStatus,
  taskStatus,
  timelineStatus,
  userDiscountStatus,
  userStatus,
} from '@recur/contracts';
import { table } from './fields.js';

type Meanings<T> = { [Name in keyof T]: string };

/** Rows of the statuses of one object, which are all explained. */
const rowsOf = <T extends Record<string, number>>(what: string, codes: T, meanings: Meanings<T>): string[][] =>
  Object.entries(codes).map(([name, code]) => [what, String(code), name, meanings[name] as string]);

const never = 'not answered';

const rows = [
  rowsOf('subscription', subscriptionStatus, {
    init: never,
    pending: 'the first invoice is open',
    active: 'the period is paid, or free',
    cancelled: 'over: it was cancelled',
    expired: 'over: an invoice was not paid by its deadline',
    incomplete: 'the period began unpaid; its invoice is open until the deadline',
    processing: 'the outcome of the first payment is awaited',
    failed: 'over: the first invoice was never paid',
  }),
  rowsOf('invoice, credit note', invoiceStatus, {
    init: never,
    pending: 'a draft: it can be edited, and has no number',
    processing: 'open: numbered, and waiting for its payment',
    paid: 'paid, or nothing was due',
    failed: 'not paid by its deadline',
    cancelled: 'taken back before it was paid',
    reversed: 'the bank took the whole payment back',
  }),
  rowsOf('payment', paymentStatus, {
    created: 'open: to be charged, to be confirmed, or under way',
    success: 'the money was received',
    failed: 'declined, or not paid in time',
    cancelled: 'taken back before it was charged',
  }),
  rowsOf('refund', refundStatus, {
    created: 'the gateway has not made it yet, or a transfer is to be sent',
    success: 'the money is on its way back',
    failed: 'the gateway could not make it',
    cancelled: 'taken back before it was sent',
    reversed: 'the bank sent the money back',
  }),
  rowsOf('pending update of a subscription', pendingUpdateStatus, {
    init: never,
    pending: 'waits for its invoice, or for the end of the period',
    finished: 'it has taken effect',
    cancelled: 'withdrawn, replaced, or not paid in time',
  }),
  rowsOf('export or import', taskStatus, {
    queued: 'not begun yet',
    running: 'some rows of an export are written',
    done: 'its link opens the file for 7 days',
    failed: 'given up, as failureReason says; of an import no row was taken',
  }),
  rowsOf('period of a subscription', subscriptionTimelineStatus, {
    pending: never,
    processing: 'its invoice is open',
    finished: 'its invoice is paid, or nothing was due',
    cancelled: 'its invoice was taken back',
    expired: never,
    failed: 'its invoice was not paid',
  }),
  rowsOf('one-time add-on of a subscription', onetimeAddonStatus, {
    created: 'its payment is open',
    paid: 'bought',
    cancelled: 'taken back before it was paid',
    expired: 'not paid in time',
  }),
  rowsOf('product', productStatus, { active: 'sold', inactive: 'not sold' }),
  rowsOf('plan', planStatus, {
    editing: 'can be edited, and not be sold',
    active: 'sold; price, currency and interval are fixed',
    softArchived: 'no longer sold; can be activated again',
    hardArchived: 'no longer sold, for good',
  }),
  rowsOf('plan: `publishStatus`', publishStatus, {
    unpublished: 'sold by a link',
    published: 'offered to users on the portal',
  }),
  rowsOf('discount', discountStatus, {
    editable: 'being made: it cannot be used',
    active: 'can be used',
    deactivated: 'stopped; can be activated again',
    expired: 'its time is over',
    archived: 'deleted',
  }),
  rowsOf('use of a discount', userDiscountStatus, {
    used: 'counts for the limits of the code',
    rolledBack: 'came back with the invoice that was not paid',
  }),
  rowsOf('credit recharge', creditRechargeStatus, {
    created: 'its invoice is open',
    success: 'paid: the credit is there',
    failed: 'not paid',
  }),
  rowsOf('entry of `payment/timeline/list`', timelineStatus, {
    pending: 'open',
    success: 'done',
    failed: 'failed or cancelled',
    reversed: 'a refund that the bank sent back',
  }),
  rowsOf('user', userStatus, { active: 'can buy and sign in', suspended: 'cannot' }),
  rowsOf('member', memberStatus, { active: 'can sign in', suspended: 'cannot' }),
  rowsOf('webhook endpoint', endpointStatus, {
    active: 'gets deliveries',
    disabled: 'failed for days: events are recorded, and sent when it is enabled',
  }),
  rowsOf('replay of webhooks', replayStatus, {
    running: 'deliveries are being scheduled',
    finished: 'all are scheduled',
    cancelled: 'stopped on request',
    stopped: 'its endpoint was disabled or deleted',
  }),
  rowsOf('automation connection', connectionStatus, {
    requested: 'waits for consent',
    allowed: 'consent was given, the platform has no token yet',
    connected: 'in use',
  }),
  rowsOf('e-mail', emailStatus, {
    pending: 'queued, or to be tried again',
    sent: 'taken by the mail server',
    failed: 'given up; the history says why',
  }),
].flat();

/** The page of all statuses, by object. */
export const statusPage = (): string => `# Statuses

The numbers in \`status\`, by the object that has it. They are fixed, and more may be added: treat one that you do not know as
"something else". Other integer codes, such as a plan's \`type\`, are explained beside their field in the
[reference](../api-reference.md#shapes).

${table(['object', 'number', 'name', 'means'], rows)}
`;
