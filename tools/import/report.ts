import { exponentOf } from '@recur/contracts';
import type { Left } from './moved.js';
import type { Amounts } from './next.js';

/** The next invoice here, as an import tells it. */
export interface Here {
  price: bigint;
  discount: bigint;
  tax: bigint;
  total: bigint;
}

/** A subscription, and its next invoice there and here; undefined for none. */
export interface Compared {
  id: string;
  currency: string;
  there: Amounts | undefined;
  here: Amounts | undefined;
  notes: readonly string[];
  /** True where it runs here now. */
  isTaken: boolean;
}

/** True where both have no next invoice, or one of the same total and tax. */
export const agrees = ({ there, here }: Pick<Compared, 'there' | 'here'>): boolean =>
  there?.total === here?.total && there?.tax === here?.tax;

/** Why they differ, in the parts of the invoice that do. */
export function differenceOf({ there, here, notes, currency }: Compared): string {
  const shown = (amount: bigint) => majorOf(amount, currency);
  if (!there || !here) return there ? 'no invoice follows here' : 'an invoice follows here, and none there';
  const parts = (['price', 'discount', 'tax'] as const)
    .filter(part => there[part] !== here[part])
    .map(part => `${part} ${shown(there[part])} there, ${shown(here[part])} here`);
  return [...parts, ...notes].join('; ');
}

/** The parity report: a line per subscription, with the reason of each difference, and of each that stays there. */
export function reported(compared: readonly Compared[], already: readonly Left[], left: readonly Left[]): string {
  const differing = compared.filter(each => !agrees(each));
  const rows = compared.map(each => [
    each.id,
    each.there ? `${majorOf(each.there.total, each.currency)} ${each.currency}` : 'none',
    each.here ? `${majorOf(each.here.total, each.currency)} ${each.currency}` : 'none',
    agrees(each)
      ? each.isTaken
        ? 'taken'
        : 'agrees'
      : `DIFFERS${each.isTaken ? ', taken' : ''}: ${differenceOf(each)}`,
  ]);
  return [
    ...aligned([['subscription', 'next invoice there', 'here', ''], ...rows]),
    ...section('Here already', already),
    ...section('Stays there', left),
    '',
    `${compared.length - differing.length} agree, ${differing.length} differ, ${already.length} were here already, ${left.length} stay there.`,
  ].join('\n');
}

const section = (title: string, entries: readonly Left[]) =>
  entries.length === 0 ? [] : ['', title, ...aligned(entries.map(({ id, reason }) => [`  ${id}`, reason]))];

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map(row => (row[at] ?? '').length)));
  return rows.map(row =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** `1234` cents as `12.34`. */
export function majorOf(minor: bigint, currency: string): string {
  const places = exponentOf(currency);
  const digits = minor.toString().padStart(places + 1, '0');
  return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

/** An amount such as `12.34` or `12` in minor units. */
export function minorOf(major: string, currency: string): bigint {
  const [whole = '', decimals = ''] = major.split('.');
  return BigInt(whole + decimals.padEnd(exponentOf(currency), '0'));
}
