import type { Formats } from '../text/format.js';

const secondsOfDay = 86_400;
const shownOfDay = 100;

/** Names and numbers that a line was computed from; a price that is a fraction of the minor unit is a text. */
type Inputs = Readonly<Record<string, unknown>>;
export type Numbers = Readonly<Record<string, number | undefined>>;
type Words = Pick<Formats, 'amount' | 'unitPrice' | 'number' | 'duration'> & { t(key: 'why.unused'): string };

/** How the net amount of a line was computed; undefined where its inputs are the net amount itself. */
export const formulaOf = (inputs: Inputs, currency: string, words: Words): string | undefined =>
  usageOf(inputs, currency, words) ?? baseOf(inputs as Numbers, currency, words);

/** "2 × €49.00 × 12.5 days ÷ 30 days", of the inputs of a full price, a part of a period, or the unused rest of one. */
function baseOf(numbers: Numbers, currency: string, words: Words): string | undefined {
  const { t, amount, number } = words;
  const { unitAmount, quantity, partSeconds, unusedSeconds, periodSeconds, net } = numbers;
  if (unusedSeconds !== undefined && net !== undefined)
    return `${t('why.unused')}: ${amount(net, currency)} ${shareOf(unusedSeconds, periodSeconds, words)}`;
  if (unitAmount === undefined || quantity === undefined) return undefined;
  const full = `${number(quantity)} × ${amount(unitAmount, currency)}`;
  return partSeconds === undefined ? full : `${full} ${shareOf(partSeconds, periodSeconds, words)}`;
}

/**
 * "(100 × €0.05 + €10.00 + 20 × €0.04) × 12 days ÷ 30 days − €3.00", of usage: its tiers, the part of the period, what
 * was billed before.
 */
function usageOf(inputs: Inputs, currency: string, words: Words): string | undefined {
  const { used, billed, partSeconds, periodSeconds } = inputs as Numbers;
  if (used === undefined) return undefined;
  const { amount, unitPrice, number } = words;
  const steps = Object.keys(inputs)
    .filter(name => name.startsWith('units '))
    .sort((one, other) => startOf(one) - startOf(other));
  const priced = steps.map(name => {
    const step = name.slice('units '.length);
    const { [name]: units = 0, [`flatAmount ${step}`]: flat = 0 } = inputs as Numbers;
    const each = `${number(units)} × ${unitPrice(String(inputs[`unitPrice ${step}`]), currency)}`;
    return flat === 0 ? each : `${each} + ${amount(flat, currency)}`;
  });
  const all = priced.join(' + ') || number(used);
  const part = partSeconds === undefined ? all : `(${all}) ${shareOf(partSeconds, periodSeconds, words)}`;
  return billed === undefined ? part : `${part} − ${amount(billed, currency)}`;
}

/** The first unit of a tier: 101 of "units 101–". */
const startOf = (name: string) => Number.parseInt(name.slice('units '.length), 10);

/** "× 12.5 days ÷ 30 days". */
function shareOf(part: number, period: number | undefined, { duration }: Words): string {
  const days = (seconds: number) => duration(Math.round((seconds / secondsOfDay) * shownOfDay) / shownOfDay, 'day');
  return `× ${days(part)} ÷ ${days(period ?? 0)}`;
}

/**
 * The first unit of a tier of prices, where the tier before it ends at `endBefore`, 0 for none: tiers adjoin where one
 * starts at the end of the one before, or one unit after it.
 */
export const firstUnitOf = (startValue: number, endBefore: number) =>
  (startValue <= endBefore + 1 ? endBefore : startValue) + 1;
