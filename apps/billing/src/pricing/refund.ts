import { amountAt, clampToZero, invalid, max, min, ratio, shareOfLeft, sum } from '@recur/kernel';
import { promoReturned } from './credit.js';
import type { TaxCategory } from './tax.js';

/** Net and tax, in minor units. */
export interface NetTax {
  net: bigint;
  tax: bigint;
}

/** Line of a finished invoice with what was credited of it; net is after discount and promo credit. */
export interface RefundLine extends NetTax {
  lineId: string;
  category: TaxCategory;
  ratePpm: number;
  /** Given back by credit lines of later documents. */
  credited: NetTax;
  /** Given back by refunds that are created or succeeded. */
  refunded: NetTax;
}

/** An invoice as refunds see it. Money in minor units, promo in credits. */
export interface RefundLedger {
  invoiceId: string;
  lines: readonly RefundLine[];
  /** Successful payments, and main credit spent. */
  paid: bigint;
  creditSpent: bigint;
  /** Part of the refunds that went to payments. */
  refundedToPayments: bigint;
  promo: { spent: bigint; credited: bigint; refunded: bigint };
}

/** A refund's share of a line. */
export interface LineShare extends NetTax {
  lineId: string;
  category: TaxCategory;
  ratePpm: number;
}

export interface RefundSplit extends NetTax {
  amount: bigint;
  /** Through the gateway, up to what was paid through it. */
  toPayments: bigint;
  /** Back to the main credit account, at once. */
  toMainCredit: bigint;
  promoCredits: bigint;
  lines: LineShare[];
}

const total = ({ net, tax }: NetTax): bigint => net + tax;
const noNetTax: NetTax = { net: 0n, tax: 0n };

/** Net credited of a line in any way; its unused time is credited at most up to the rest (`creditedNet`). */
export const creditedNet = ({ credited, refunded }: RefundLine): bigint => credited.net + refunded.net;

/**
 * Amount that may still be refunded: paid, less refunds and what credit lines of later documents gave back. Credit lines
 * may credit more than was paid, where the invoice itself has credit lines; then nothing is refundable.
 */
export function refundable({ lines, paid, creditSpent }: RefundLedger): bigint {
  const back = sum(lines.map(({ credited, refunded }) => total(credited) + total(refunded)));
  return clampToZero(paid + creditSpent - back);
}

/**
 * Refunds `amount` of an invoice. Tax is cumulative: after R of total T with tax X, round(X × R ÷ T) has been refunded;
 * T and X are without what credit lines of later documents gave back. It is split over the rate groups, and net and tax
 * over the lines, by largest remainder over what is left of each, so that everything is back exactly at R = T. Promo
 * credits come back likewise, floored.
 * Throws Rejected `invalid_parameters` for /refundAmount if the amount is not positive or more than is refundable.
 */
export function refundFrom(ledger: RefundLedger, amount: bigint): [RefundLedger, RefundSplit] {
  const most = refundable(ledger);
  if (amount <= 0n || amount > most) {
    throw invalid('/refundAmount', `is ${amount}: ${most} of invoice ${ledger.invoiceId} is refundable`);
  }
  const lines = lineShares(ledger.lines, amount);
  const [net, tax] = [sum(lines.map(share => share.net)), sum(lines.map(share => share.tax))];
  const toPayments = min(amount, clampToZero(ledger.paid - ledger.refundedToPayments));
  const promoCredits = promoShare(ledger, amount);
  const made: RefundSplit = { amount, net, tax, toPayments, toMainCredit: amount - toPayments, promoCredits, lines };
  return [booked(ledger, made, 1n), made];
}

/** Takes back a refund that failed or was cancelled. */
export const undoRefund = (ledger: RefundLedger, undone: RefundSplit): RefundLedger => booked(ledger, undone, -1n);

/** Records what a credit line of a later document gave back of its source line, as positive amounts. */
export function creditLine(ledger: RefundLedger, lineId: string, given: NetTax, promoCredits = 0n): RefundLedger {
  const lines = ledger.lines.map(line =>
    line.lineId === lineId ? { ...line, credited: plus(line.credited, given, 1n) } : line,
  );
  return { ...ledger, lines, promo: { ...ledger.promo, credited: ledger.promo.credited + promoCredits } };
}

/**
 * Accepts that `underpayment` less than the total was received: returns the shares of a credit note for it, with its part
 * of the tax, and the invoice's ledger without them. No money moves. `ledger.paid` is the amount received.
 */
export function acceptUnderpayment(ledger: RefundLedger, underpayment: bigint): [RefundLedger, LineShare[]] {
  const shares = lineShares(ledger.lines, underpayment);
  const lines = ledger.lines.map((line, i) => ({ ...line, ...plus(line, shares[i] ?? noNetTax, -1n) }));
  return [{ ...ledger, lines }, shares];
}

const plus = (a: NetTax, b: NetTax, sign: 1n | -1n): NetTax => ({
  net: a.net + sign * b.net,
  tax: a.tax + sign * b.tax,
});

function booked(ledger: RefundLedger, made: RefundSplit, sign: 1n | -1n): RefundLedger {
  const { promo, refundedToPayments } = ledger;
  return {
    ...ledger,
    lines: ledger.lines.map((line, i) => ({
      ...line,
      refunded: plus(line.refunded, made.lines[i] ?? noNetTax, sign),
    })),
    refundedToPayments: refundedToPayments + sign * made.toPayments,
    promo: { ...promo, refunded: promo.refunded + sign * made.promoCredits },
  };
}

const leftOf = ({ net, tax, credited, refunded }: RefundLine): NetTax => ({
  net: net - credited.net - refunded.net,
  tax: tax - credited.tax - refunded.tax,
});

/** Splits an amount to credit over the lines. */
function lineShares(lines: readonly RefundLine[], amount: bigint): LineShare[] {
  const left = lines.map(leftOf);
  const [leftNet, leftTax] = [sum(left.map(({ net }) => net)), sum(left.map(({ tax }) => tax))];
  if (amount > leftNet + leftTax) throw new RangeError(`${amount} of ${leftNet + leftTax} left`);
  const shareOf = (i: number, { net, tax }: NetTax): LineShare => {
    const { lineId, category, ratePpm } = lines[i] as RefundLine;
    return { lineId, category, ratePpm, net, tax };
  };
  if (amount === leftNet + leftTax) return left.map((rest, i) => shareOf(i, rest));
  const tax = clamped(cumulativeTax(lines, amount), amount, { net: leftNet, tax: leftTax });
  const nets = shareOfLeft(
    amount - tax,
    left.map(({ net }) => net),
  );
  const taxes = taxShares(lines, left, tax);
  return nets.map((net, i) => shareOf(i, { net, tax: amountAt(taxes, i) }));
}

/** round(X × R ÷ T) after this amount, less the tax that was refunded before. */
function cumulativeTax(lines: readonly RefundLine[], amount: bigint): bigint {
  const base = lines.map(line => plus(line, line.credited, -1n));
  const refunded = lines.map(line => line.refunded);
  const [whole, tax] = [sum(base.map(total)), sum(base.map(part => part.tax))];
  const after = sum(refunded.map(total)) + amount;
  return ratio(tax, after, whole, 'half-away-from-zero') - sum(refunded.map(part => part.tax));
}

/**
 * Keeps tax and net within what is left of each, towards which both only move. The cumulative tax leaves that range only
 * after a refund was undone, or a later document credited a line, between two refunds.
 */
function clamped(tax: bigint, amount: bigint, left: NetTax): bigint {
  const low = max(min(0n, left.tax), amount - clampToZero(left.net));
  const high = min(clampToZero(left.tax), amount - min(0n, left.net));
  return max(low, min(tax, high));
}

/** Tax over the rate groups, then within each group over its lines. */
function taxShares(lines: readonly RefundLine[], left: readonly NetTax[], tax: bigint): bigint[] {
  const groups = new Map<string, number[]>();
  lines.forEach(({ category, ratePpm }, i) => {
    const key = `${category} ${ratePpm}`;
    const members = groups.get(key);
    if (members) members.push(i);
    else groups.set(key, [i]);
  });
  const members = [...groups.values()].map(indices => indices.map(i => ({ i, tax: left[i]?.tax ?? 0n })));
  const shares = lines.map(() => 0n);
  shareOfLeft(
    tax,
    members.map(group => sum(group.map(member => member.tax))),
  ).forEach((groupShare, g) => {
    const group = members[g] ?? [];
    shareOfLeft(
      groupShare,
      group.map(member => member.tax),
    ).forEach((share, at) => {
      shares[group[at]?.i ?? 0] = share;
    });
  });
  return shares;
}

function promoShare({ lines, promo }: RefundLedger, amount: bigint): bigint {
  const whole = sum(lines.map(line => total(line) - total(line.credited)));
  const after = sum(lines.map(({ refunded }) => total(refunded))) + amount;
  return clampToZero(promoReturned(promo.spent - promo.credited, after, whole) - promo.refunded);
}
