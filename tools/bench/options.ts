import { parseArgs } from 'node:util';
import { Failure } from '../local/failure.js';
import { type MeasureName, measureNames } from './measure.js';

export interface BenchOptions {
  /** File for the result as JSON. */
  json?: string | undefined;
  /** Measures to take; undefined for all. */
  only?: ReadonlySet<MeasureName> | undefined;
}

const usage = 'npm run bench takes -- [--json FILE] [--only NAME,NAME…]';

/** Arguments of `npm run bench`. Throws Failure (64) with the usage, or with the names that exist. */
export function benchOptions(args: readonly string[]): BenchOptions {
  const { json, only } = parsed(args);
  if (only === undefined) return { json };
  const names = only.split(',').map(name => name.trim());
  const unknown = names.filter(name => !isMeasure(name));
  if (unknown.length > 0) {
    const what = unknown.map(name => `"${name}"`).join(', ');
    throw new Failure(`no measure is called ${what}; the measures are ${measureNames.join(', ')}.`, 64);
  }
  return { json, only: new Set(names.filter(isMeasure)) };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: { json: { type: 'string' }, only: { type: 'string' } } }).values;
  } catch (error) {
    throw new Failure(`${(error as Error).message.replace(/\.$/, '')}; ${usage}.`, 64);
  }
}

const isMeasure = (name: string): name is MeasureName => measureNames.some(known => known === name);
