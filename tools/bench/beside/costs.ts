import { readdirSync, readFileSync } from 'node:fs';
import type { TemporaryStack } from '../../local/temporary.js';
import { processorSeconds } from '../machine.js';

/** Processor time of each part of a stack so far, in seconds; `extra` are processes of more replicas, by app. */
export function costsOf(stack: TemporaryStack, extra: readonly (readonly [app: string, pid: number])[] = []) {
  const { postgres = 0, ...pids } = stack.facts().pids;
  const seconds: Record<string, number> = {};
  for (const [part, pid] of [...Object.entries(pids), ...extra]) {
    seconds[part] = (seconds[part] ?? 0) + processorSeconds(pid);
  }
  const all = processorSeconds(postgres);
  const billing = backendsOf(postgres, 'recur_billing').reduce((sum, pid) => sum + processorSeconds(pid), 0);
  return { ...seconds, 'PostgreSQL of billing': billing, 'PostgreSQL of the others': all - billing };
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
