import { clampToZero, exchange, RATE_DIGITS, type Rate, rateOf, rateText, ratio } from '@recur/kernel';
import type { Derivation } from './explain.js';

/** Price of one unit: minor units, or a decimal of them with at most 12 fractional digits, which goes first. */
export interface UnitPrice {
  amount: bigint;
  /** '' for none. */
  decimal: string;
}

/** A tier of a graduated price. Units are counted cumulatively; the last tier is open. */
export interface Tier {
  startValue: number;
  /** −1 for an open end. */
  endValue: number;
  price: UnitPrice;
  /** Charged once, when the tier is reached. */
  flatAmount: bigint;
}

/** The price of a metric in a plan or add-on, in the currency of the subscription. */
export interface UsagePrice {
  metricId: number;
  /** The plan or add-on that has the price. */
  planId: number;
  graduated: boolean;
  standard: UnitPrice;
  /** Units that are free with a standard price. */
  standardStartValue: number;
  tiers: readonly Tier[];
}

/** Part of a usage price: the units of one tier, or of a standard price. */
export interface PricedStep {
  /** `1–100`, `101–`; of a standard price the first unit that is charged. */
  step: string;
  units: bigint;
  price: UnitPrice;
  flatAmount: bigint;
  /** round(units × price) + flatAmount. */
  amount: bigint;
}

/** A usage price as plans and copies hold it: integers in minor units, decimals as text. */
export interface ChargeDocument {
  metricId: number;
  /** 0 standard, 1 graduated. */
  chargeType: number;
  standardAmount: number;
  standardAmountDecimal?: string | undefined;
  standardStartValue: number;
  graduatedAmounts: readonly {
    startValue: number;
    endValue: number;
    perAmount: number;
    perAmountDecimal?: string | undefined;
    flatAmount: number;
  }[];
}

/** The price in a plan's document. */
export const usagePrice = (charge: ChargeDocument, planId: number): UsagePrice => ({
  metricId: charge.metricId,
  planId,
  graduated: charge.chargeType !== 0,
  standard: { amount: BigInt(charge.standardAmount), decimal: charge.standardAmountDecimal ?? '' },
  standardStartValue: charge.standardStartValue,
  tiers: charge.graduatedAmounts.map(({ startValue, endValue, perAmount, perAmountDecimal = '', flatAmount }) => ({
    startValue,
    endValue,
    price: { amount: BigInt(perAmount), decimal: perAmountDecimal },
    flatAmount: BigInt(flatAmount),
  })),
});

const SCALE = 10n ** BigInt(RATE_DIGITS);

/** round(units × price), halves away from zero, in minor units. */
export function priceOfUnits(units: bigint, { amount, decimal }: UnitPrice): bigint {
  if (decimal === '') return units * amount;
  return ratio(units, rateOf(decimal), SCALE, 'half-away-from-zero');
}

/**
 * The steps of which the price of `used` units consists; none for a negative number. A tier is reached when `used`
 * exceeds its start, which is the end of the tier before it where the two adjoin (startValue equal to that end, or one
 * more).
 */
export function pricedSteps(price: UsagePrice, used: bigint): PricedStep[] {
  if (!price.graduated) {
    const units = clampToZero(used - BigInt(price.standardStartValue));
    if (units === 0n) return [];
    return [stepOf(BigInt(price.standardStartValue), -1n, units, price.standard, 0n)];
  }
  const steps: PricedStep[] = [];
  let end = 0n;
  for (const tier of price.tiers) {
    const start = stepStart(tier, end);
    if (used <= start) break;
    end = tier.endValue < 0 ? used : BigInt(tier.endValue);
    const units = (used < end ? used : end) - start;
    if (units > 0n) steps.push(stepOf(start, BigInt(tier.endValue), units, tier.price, tier.flatAmount));
  }
  return steps;
}

/** The price of `used` units in minor units: the sum of its steps, each rounded once. */
export const usageAmount = (price: UsagePrice, used: bigint): bigint =>
  pricedSteps(price, used).reduce((total, { amount }) => total + amount, 0n);

/**
 * The price of a part of a period, for values that stand rather than accrue (max, latest, unique ids, recurring
 * charges): round(price × partSeconds ÷ periodSeconds).
 */
export function partOf(amount: bigint, partSeconds: number, periodSeconds: number): bigint {
  if (partSeconds >= periodSeconds) return amount;
  return ratio(amount, BigInt(partSeconds), BigInt(periodSeconds), 'half-away-from-zero');
}

/** A conversion between currencies: the rate, and both exponents (fraction digits) of ISO 4217. */
export interface Conversion {
  rate: Rate;
  fromExponent: number;
  toExponent: number;
}

/** The price with its unit prices converted and rounded once, so that amounts are multiples of what is shown. */
export function convertedCharge(charge: ChargeDocument, conversion: Conversion): ChargeDocument {
  const amount = (value: number) =>
    Number(exchange(BigInt(value), conversion.rate, conversion.fromExponent, conversion.toExponent));
  const decimal = (text = '') => (text === '' ? '' : convertedDecimal(text, conversion));
  return {
    ...charge,
    standardAmount: amount(charge.standardAmount),
    standardAmountDecimal: decimal(charge.standardAmountDecimal),
    graduatedAmounts: charge.graduatedAmounts.map(tier => ({
      ...tier,
      perAmount: amount(tier.perAmount),
      perAmountDecimal: decimal(tier.perAmountDecimal),
      flatAmount: amount(tier.flatAmount),
    })),
  };
}

/** Two prices charge equally; the plan that has them does not matter. */
export const samePrice = (one: UsagePrice | undefined, other: UsagePrice | undefined): boolean =>
  one === other || (one !== undefined && other !== undefined && priceKey(one) === priceKey(other));

/** Words and numbers of a usage line, for invoice/explain. */
export function usageDerivation(
  price: UsagePrice,
  { used, billed, part }: { used: bigint; billed: bigint; part: { partSeconds: number; periodSeconds: number } },
): Derivation {
  const whole = part.partSeconds >= part.periodSeconds;
  const units = price.graduated ? 'Σ tiers (round(units × unitPrice) + flatAmount)' : 'round(units × unitPrice)';
  const prorated = whole ? units : `round((${units}) × partSeconds ÷ periodSeconds)`;
  const steps = pricedSteps(price, used);
  return {
    formula: billed === 0n ? prorated : `${prorated} − billed`,
    inputs: {
      used: Number(used),
      ...Object.fromEntries(
        steps.flatMap(({ step, units: count, price: unit, flatAmount }) => [
          [`units ${step}`, Number(count)],
          [`unitPrice ${step}`, unit.decimal || Number(unit.amount)],
          ...(flatAmount === 0n ? [] : [[`flatAmount ${step}`, Number(flatAmount)] as const]),
        ]),
      ),
      ...(whole ? {} : part),
      ...(billed === 0n ? {} : { billed: Number(billed) }),
    },
  };
}

function stepStart({ startValue }: Tier, before: bigint): bigint {
  const start = BigInt(startValue);
  return start === before + 1n || start < before ? before : start;
}

function stepOf(start: bigint, end: bigint, units: bigint, price: UnitPrice, flatAmount: bigint): PricedStep {
  const step = `${start + 1n}–${end < 0n ? '' : end}`;
  return { step, units, price, flatAmount, amount: priceOfUnits(units, price) + flatAmount };
}

function convertedDecimal(decimal: string, { rate, fromExponent, toExponent }: Conversion): string {
  const digits = toExponent - fromExponent;
  const shift = 10n ** BigInt(Math.abs(digits));
  const exact = rateOf(decimal) * (digits > 0 ? shift : 1n);
  return rateText(ratio(exact, rate, SCALE * (digits < 0 ? shift : 1n), 'half-away-from-zero'));
}

const unitKey = ({ amount, decimal }: UnitPrice) => decimal || String(amount);
const priceKey = ({ graduated, standard, standardStartValue, tiers }: UsagePrice) =>
  graduated
    ? `tiers ${tiers.map(t => `${t.startValue} ${t.endValue} ${unitKey(t.price)} ${t.flatAmount}`).join(', ')}`
    : `${unitKey(standard)} from ${standardStartValue}`;
