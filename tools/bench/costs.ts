import { readdirSync, readFileSync } from 'node:fs';
import type { TemporaryStack } from '../local/temporary.js';
import { median } from './load.js';
import { processorSeconds } from './machine.js';

/** Processor time by part of a stack. */
export type Costs = Record<string, number>;

/** Processor time of each part of a stack so far, in seconds; `extra` are processes of more replicas, by app. */
export function costsOf(stack: TemporaryStack, extra: readonly (readonly [app: string, pid: number])[] = []): Costs {
  const { postgres = 0, ...pids } = stack.facts().pids;
  const seconds: Costs = {};
  for (const [part, pid] of [...Object.entries(pids), ...extra]) {
    seconds[part] = (seconds[part] ?? 0) + processorSeconds(pid);
  }
  const all = processorSeconds(postgres);
  const billing = backendsOf(postgres, 'recur_billing').reduce((sum, pid) => sum + processorSeconds(pid), 0);
  return { ...seconds, 'PostgreSQL of billing': billing, 'PostgreSQL of the others': all - billing };
}

/** Runs what makes a number of items; also returns the processor time of each of them, in microseconds. */
export async function costing<T>(
  now: () => Costs,
  run: () => Promise<T>,
  itemsOf: (result: T) => number,
): Promise<{ result: T; costs: Costs }> {
  const before = now();
  const result = await run();
  const items = itemsOf(result);
  const each = ([part, seconds]: [string, number]) => [part, ((seconds - (before[part] ?? 0)) * 1e6) / items];
  return { result, costs: Object.fromEntries(Object.entries(now()).map(each)) };
}

/** The medians of several rounds, part by part, and their sum. */
export function toldCosts(rounds: readonly Costs[]): string {
  const parts = Object.keys(rounds[0] ?? {});
  const each = parts.map(part => [part, median(rounds.map(costs => costs[part] ?? 0))] as const);
  const sum = each.reduce((total, [, value]) => total + value, 0);
  return [...each, ['together', sum] as const].map(([part, value]) => `${part} ${value.toFixed(0)}`).join(', ');
}

/** Processes of a PostgreSQL server that serve connections to one database. */
function backendsOf(postmaster: number, database: string): number[] {
  return readdirSync('/proc')
    .filter(entry => /^\d+$/.test(entry) && textOf(`/proc/${entry}/cmdline`).includes(` ${database} `))
    .filter(entry => Number(/^PPid:\s+(\d+)/m.exec(textOf(`/proc/${entry}/status`))?.[1]) === postmaster)
    .map(Number);
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
