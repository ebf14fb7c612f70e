import { amountAt, apportion, ratio, sum } from '@recur/kernel';

/** Rates are integers in parts per million: PPM is 100 %. */
export const PPM = 1_000_000n;

/** VAT category codes of EN 16931: standard, zero, exempt, reverse charge, intra-community, export, outside scope. */
export type TaxCategory = 'S' | 'Z' | 'E' | 'AE' | 'K' | 'G' | 'O';

/** Part of a rate that is owed to one authority, for example a state, a county or a city. */
export interface TaxComponent {
  jurisdiction: string;
  ratePpm: number;
}

/** The rate of a line, with its reason. Components, if there are any, add up to the rate. */
export interface TaxRate {
  category: TaxCategory;
  ratePpm: number;
  /** Country, or country and state; '' for none. */
  jurisdiction: string;
  /** Rule that gave the rate, for example `country`. */
  source: string;
  /** In words, for the document. */
  reason: string;
  components?: readonly TaxComponent[];
}

/** Net and tax of the lines that share category and rate, in minor units. */
export interface TaxGroup extends Omit<TaxRate, 'components'> {
  net: bigint;
  tax: bigint;
  components: readonly (TaxComponent & { tax: bigint })[];
}

/** Parts per million in the API's unit of a percentage, of which 10000 are 100 %. */
const ppmPerUnit = 100;

/** A percentage of the API (10000 = 100 %) as a rate: exact. */
export const ppmOf = (percentage: number): number => percentage * ppmPerUnit;

/** A rate as a percentage of the API (10000 = 100 %), rounded half away from zero. */
export const percentageOf = (ratePpm: number): number =>
  Number(ratio(BigInt(ratePpm), 1n, BigInt(ppmPerUnit), 'half-away-from-zero'));

/** The percentage that all rates have in common, else 0. */
export function commonPercentage(rates: readonly Pick<TaxRate, 'ratePpm'>[]): number {
  const [first] = rates;
  return first && rates.every(({ ratePpm }) => ratePpm === first.ratePpm) ? percentageOf(first.ratePpm) : 0;
}

interface Members {
  rate: TaxRate;
  lines: number[];
}

/**
 * Tax of lines with the given nets and rates. Lines are grouped by category and rate; a group's tax is
 * net × ratePpm ÷ 10^6, rounded once, half away from zero. Within the group, lines get their exact share floored towards
 * −∞, and the units left over go to the largest fractions, earlier lines first. Groups are in order of their first line.
 * Facts of a group other than category and rate are those of its first line.
 */
export function taxesOn(nets: readonly bigint[], rates: readonly TaxRate[]): { taxes: bigint[]; groups: TaxGroup[] } {
  const taxes = nets.map(() => 0n);
  const groups = grouped(rates).map(({ rate, lines }) => {
    const numerators = lines.map(line => amountAt(nets, line) * BigInt(rate.ratePpm));
    const tax = ratio(sum(numerators), 1n, PPM, 'half-away-from-zero');
    apportion(tax, numerators, PPM).forEach((share, i) => {
      taxes[lines[i] as number] = share;
    });
    const { category, ratePpm, jurisdiction, source, reason } = rate;
    const net = sum(lines.map(line => amountAt(nets, line)));
    return {
      category,
      ratePpm,
      jurisdiction,
      source,
      reason,
      net,
      tax,
      components: componentsOf(tax, lines, nets, rates),
    };
  });
  return { taxes, groups };
}

function grouped(rates: readonly TaxRate[]): Members[] {
  const groups = new Map<string, Members>();
  rates.forEach((rate, line) => {
    assertTaxRate(rate);
    const key = `${rate.category} ${rate.ratePpm}`;
    const members = groups.get(key);
    if (members) members.lines.push(line);
    else groups.set(key, { rate, lines: [line] });
  });
  return [...groups.values()];
}

/** Splits a group's tax over its components by largest remainder; empty unless every line of the group has some. */
function componentsOf(
  tax: bigint,
  lines: readonly number[],
  nets: readonly bigint[],
  rates: readonly TaxRate[],
): (TaxComponent & { tax: bigint })[] {
  if (!lines.every(line => rates[line]?.components?.length)) return [];
  const exact = new Map<string, TaxComponent & { numerator: bigint }>();
  for (const line of lines) {
    for (const { jurisdiction, ratePpm } of rates[line]?.components ?? []) {
      const key = `${jurisdiction} ${ratePpm}`;
      const numerator = (exact.get(key)?.numerator ?? 0n) + amountAt(nets, line) * BigInt(ratePpm);
      exact.set(key, { jurisdiction, ratePpm, numerator });
    }
  }
  const components = [...exact.values()];
  const shares = apportion(
    tax,
    components.map(({ numerator }) => numerator),
    PPM,
  );
  return components.map(({ jurisdiction, ratePpm }, i) => ({ jurisdiction, ratePpm, tax: amountAt(shares, i) }));
}

function assertTaxRate({ ratePpm, components = [] }: TaxRate): void {
  if (!Number.isSafeInteger(ratePpm) || ratePpm < 0 || BigInt(ratePpm) > PPM) {
    throw new RangeError(`a tax rate of ${ratePpm} parts per million`);
  }
  const parts = components.reduce((total, component) => total + component.ratePpm, 0);
  if (components.length > 0 && parts !== ratePpm)
    throw new RangeError(`components of ${parts} in a rate of ${ratePpm}`);
}
