import { currencies } from '@recur/contracts';
import { type Rate, rateOf } from '@recur/kernel';
import sax from 'sax';
import type { RateTable } from './domain/rate-table.js';

/** How large a file may be: the daily one has 2 kB, that of 90 days 100 kB. */
export const limits = { bytes: 1_048_576, source: 100, problem: 200 } as const;
/** No rate is beyond these, so that none between two currencies is too large to be stored. */
const [smallest, largest] = [rateOf('0.000001'), rateOf('1000000000')];
const BASE = 'EUR';

/** A table, or why a file holds none. */
export type ReadRates = { table: RateTable; problem?: undefined } | { table?: undefined; problem: string };

/**
 * Reads the reference rates of the European Central Bank in the XML in which it publishes them each day: a Cube with
 * `time`, and in it a Cube with `currency` and `rate` for each currency, by the euro
 * (https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml). Of several days the newest is taken. Currencies that
 * are not in ISO 4217 any more are left out.
 */
export function readRates(xml: string): ReadRates {
  if (Buffer.byteLength(xml) > limits.bytes) return { problem: `it is larger than ${limits.bytes} bytes` };
  try {
    const { source, days } = parsed(xml);
    const [newest] = days.toSorted((a, b) => b.day.localeCompare(a.day));
    if (!newest || newest.rates.size === 0) return { problem: 'it holds no rates of a day' };
    const at = secondOf(newest.day);
    return { table: { source: source || 'a source without a name', at, base: BASE, rates: newest.rates } };
  } catch (error) {
    // what the parser says has three lines, of which the first says what is wrong; a value in it may be as long as the file
    return { problem: (error as Error).message.split('\n', 1).join().slice(0, limits.problem) };
  }
}

interface Day {
  day: string;
  rates: Map<string, Rate>;
}

/** Throws Error where it is no XML or a rate is none. */
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
  if (found.source.includes('\0')) throw new Error('the name of its source has a NUL character');
  return found;
}

function bounded(currency: string, text: string): Rate {
  const rate = rateOf(text);
  if (rate < smallest || rate > largest) throw new RangeError(`the rate of ${currency} is ${text}`);
  return rate;
}

/** The start of a day in UTC. Throws RangeError where there is no such day. */
function secondOf(day: string): number {
  const ms = Date.parse(`${day}T00:00:00Z`);
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== day) throw new RangeError(`${day} is no day`);
  return ms / 1000;
}
