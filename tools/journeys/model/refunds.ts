import { leveled, type ModelLine, netOf, rounded } from './money.js';

/*
 * Returns of paid documents, by hand: refunds, and bank charges that were accepted.
 */

export interface NetTax {
  net: bigint;
  tax: bigint;
}

/** Returns of a line: by credit lines of later documents, by refunds, and as bank charges. */
export interface Returned {
  credited: NetTax;
  refunded: NetTax;
  waived: NetTax;
}

/** The payment of a document, and its returns. Promo in credits. */
export interface Back {
  received: bigint;
  sentBack: bigint;
  lines: Returned[];
  promoCredited: bigint;
  promoRefunded: bigint;
}

/** A document as refunds see it. */
export interface Payable {
  lines: readonly ModelLine[];
  total: bigint;
  spent: bigint;
  promoCost: bigint;
  back: Back;
}

/** The credit note of a refund or of bank charges, with the total of its invoice. */
export interface Note {
  reason: 'refund' | 'bank charges';
  of: bigint;
  lines: (NetTax & { ppm: bigint })[];
}

const none = (): NetTax => ({ net: 0n, tax: 0n });

export const notReturned = (lines: readonly ModelLine[]): Back => ({
  received: 0n,
  sentBack: 0n,
  lines: lines.map(() => ({ credited: none(), refunded: none(), waived: none() })),
  promoCredited: 0n,
  promoRefunded: 0n,
});

/** Adds an amount to what came back, or takes it away. */
export function book(to: NetTax, { net, tax }: NetTax, sign = 1n): void {
  to.net += sign * net;
  to.tax += sign * tax;
}

const together = (parts: readonly NetTax[]): NetTax => {
  const all = none();
  for (const part of parts) book(all, part);
  return all;
};
const amountOf = ({ net, tax }: NetTax): bigint => net + tax;
const plus = (amount: bigint): bigint => (amount > 0n ? amount : 0n);
const minus = (amount: bigint): bigint => (amount < 0n ? amount : 0n);
const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const most = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** Net that came back of a line in any way: at most the rest is credited. */
export const creditedNet = ({ credited, refunded, waived }: Returned): bigint =>
  credited.net + refunded.net + waived.net;

/** The amount that was paid, less refunds and what credit lines of later documents gave back. */
export const refundableOf = ({ spent, back: { received, lines } }: Payable): bigint =>
  plus(received + spent - amountOf(together(lines.flatMap(({ credited, refunded }) => [credited, refunded]))));

/** Refunds a part of a document: through the payment first, then to main credit, with promo credits. */
export function refunded(doc: Payable, amount: bigint): { note: Note; toMain: bigint; promo: bigint } {
  const { back } = doc;
  const shares = sharesOf(doc, amount);
  const sent = least(amount, plus(back.received - back.sentBack));
  shares.forEach((share, at) => {
    const line = back.lines[at];
    if (line) book(line.refunded, share);
  });
  back.sentBack += sent;
  const promo = promoOf(doc);
  back.promoRefunded += promo;
  return { note: noteOf('refund', doc, shares), toMain: amount - sent, promo };
}

/** Less than due was received: the difference is bank charges. */
export function waived(doc: Payable, amount: bigint): Note {
  const shares = sharesOf(doc, amount);
  shares.forEach((share, at) => {
    const line = doc.back.lines[at];
    if (line) book(line.waived, share);
  });
  return noteOf('bank charges', doc, shares);
}

const noteOf = (reason: Note['reason'], { total: of, lines }: Payable, shares: readonly NetTax[]): Note => ({
  reason,
  of,
  lines: shares
    .map((share, at) => ({ ...share, ppm: lines[at]?.rate.ppm ?? 0n }))
    .filter(({ net, tax }) => net !== 0n || tax !== 0n),
});

/** Promo credits that come back now: those of all refunds, floored, less those before. */
function promoOf({ lines, promoCost, back }: Payable): bigint {
  const { whole, before } = baseOf(lines, back);
  if (amountOf(whole) === 0n) return 0n;
  const all = ((promoCost - back.promoCredited) * amountOf(before)) / amountOf(whole);
  return plus(all - back.promoRefunded);
}

/** A document without what later ones credited of it, and what was refunded of that. */
function baseOf(lines: readonly ModelLine[], back: Back): { whole: NetTax; before: NetTax } {
  const whole = together(lines.map(line => ({ net: netOf(line), tax: line.tax })));
  for (const line of back.lines) for (const part of [line.credited, line.waived]) book(whole, part, -1n);
  return { whole, before: together(back.lines.map(line => line.refunded)) };
}

/** The tax is cumulative; net and tax go over the lines by what is left of each. */
function sharesOf({ lines, back }: Payable, amount: bigint): NetTax[] {
  const left = lines.map((line, at) => {
    const rest = { net: netOf(line), tax: line.tax };
    const { credited, refunded, waived } = back.lines[at] ?? { credited: none(), refunded: none(), waived: none() };
    for (const part of [credited, refunded, waived]) book(rest, part, -1n);
    return rest;
  });
  const all = together(left);
  if (amount === amountOf(all)) return left;
  const { whole, before } = baseOf(lines, back);
  const cumulative = rounded(whole.tax, amountOf(before) + amount, amountOf(whole)) - before.tax;
  const low = most(minus(all.tax), amount - plus(all.net));
  const high = least(plus(all.tax), amount - minus(all.net));
  const tax = most(low, least(cumulative, high));
  const nets = ofLeft(
    amount - tax,
    left.map(({ net }) => net),
  );
  const taxes = taxShares(lines, left, tax);
  return nets.map((net, at) => ({ net, tax: taxes[at] ?? 0n }));
}

/** Tax over the rates, then over the lines of each. */
function taxShares(lines: readonly ModelLine[], left: readonly NetTax[], tax: bigint): bigint[] {
  const keys = lines.map(({ rate }) => `${rate.category} ${rate.ppm}`);
  const groups = [...new Set(keys)].map(key => [...keys.keys()].filter(at => keys[at] === key));
  const taxOf = (at: number) => left[at]?.tax ?? 0n;
  const shares = lines.map(() => 0n);
  const ofGroups = ofLeft(
    tax,
    groups.map(group => group.reduce((sum, at) => sum + taxOf(at), 0n)),
  );
  groups.forEach((group, g) => {
    const own = ofLeft(ofGroups[g] ?? 0n, group.map(taxOf));
    group.forEach((at, i) => {
      shares[at] = own[i] ?? 0n;
    });
  });
  return shares;
}

/** Shares in proportion to what is left of each part, of either sign. */
function ofLeft(total: bigint, left: readonly bigint[]): bigint[] {
  if (total === 0n) return left.map(() => 0n);
  const whole = left.reduce((sum, part) => sum + part, 0n);
  const sign = whole < 0n ? -1n : 1n;
  return leveled(
    total,
    left.map(part => part * total * sign),
    whole * sign,
  );
}
