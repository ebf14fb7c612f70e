import { currencies } from '@recur/contracts';
import { type Rate, rateOf } from '@recur/kernel';
import sax from 'sax';
import type { RateTable } from '../domain/rate-table.js';

/** Size limits of a file: the daily one has 2 kB, the one of 90 days 100 kB. */
export const limits = { bytes: 1_048_576, source: 100, problem: 200 } as const;
/** Bounds of a published rate, chosen so that every cross rate fits its column. */
const [smallest, largest] = [rateOf('0.000001'), rateOf('1000000000')];
const BASE = 'EUR';

/** A table, or the reason why the file has none. */
export type ReadRates = { table: RateTable; problem?: undefined } | { table?: undefined; problem: string };

/**
 * Reads the reference rates of the European Central Bank from its XML: a Cube with `time` per day, and in it a Cube with
 * `currency` and `rate` per euro for each currency (https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml).
 * Returns the newest day; currencies that ISO 4217 no longer has are left out.
 */
export function readRates(xml: string): ReadRates {
  if (Buffer.byteLength(xml) > limits.bytes) return { problem: `it is larger than ${limits.bytes} bytes` };
  try {
    const { source, days } = parsed(xml);
    const [newest] = days.toSorted((a, b) => b.day.localeCompare(a.day));
    if (!newest || newest.rates.size === 0) return { problem: 'it has no rates' };
    const at = secondOf(newest.day);
    return { table: { source: source || 'an unnamed source', at, base: BASE, rates: newest.rates } };
  } catch (error) {
    // the first of the parser's three lines is the reason; it may quote a value as long as the file
    return { problem: (error as Error).message.split('\n', 1).join().slice(0, limits.problem) };
  }
}

interface Day {
  day: string;
  rates: Map<string, Rate>;
}

/** Throws Error for malformed XML or an invalid rate. */
function parsed(xml: string): { source: string; days: Day[] } {
  const found = { source: '', days: [] as Day[] };
  let element = '';
  const parser = sax.parser(true);
  parser.onerror = error => {
    throw error;
  };
  parser.onopentag = ({ name, attributes }) => {
    element = name.slice(name.indexOf(':') + 1);
    if (element !== 'Cube') return;
    const { time, currency, rate } = attributes;
    if (typeof time === 'string') found.days.push({ day: time, rates: new Map() });
    if (typeof currency !== 'string' || typeof rate !== 'string') return;
    if (currencies.has(currency) && currency !== BASE) found.days.at(-1)?.rates.set(currency, bounded(currency, rate));
  };
  parser.onclosetag = () => {
    element = '';
  };
  parser.ontext = text => {
    if (element === 'name') found.source = (found.source + text.trim()).slice(0, limits.source);
  };
  parser.write(xml).close();
  if (found.source.includes('\0')) throw new Error('its source name has a NUL character');
  return found;
}

function bounded(currency: string, text: string): Rate {
  const rate = rateOf(text);
  if (rate < smallest || rate > largest) throw new RangeError(`the rate of ${currency} is ${text}`);
  return rate;
}

/** Unix second at which a day (YYYY-MM-DD) starts in UTC. Throws RangeError for a day that does not exist. */
function secondOf(day: string): number {
  const ms = Date.parse(`${day}T00:00:00Z`);
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== day) throw new RangeError(`${day} is not a date`);
  return ms / 1000;
}
