import { closeSync, fdatasyncSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { median } from './load.js';

/** Conditions of every figure: processors, PostgreSQL's version, duration of an fdatasync. */
export async function describeMachine(serverUrl: string): Promise<string> {
  const client = new pg.Client(serverUrl);
  await client.connect();
  const { rows } = await client.query<{ server_version: string }>('show server_version');
  await client.end();
  const model = cpus()[0]?.model ?? 'unknown processor';
  return `${availableParallelism()} cores (${model}), shared by everything here and the load generator; PostgreSQL ${rows[0]?.server_version}; fdatasync ${fdatasyncMs().toFixed(2)} ms; Node ${process.versions.node}`;
}

function fdatasyncMs(): number {
  const folder = mkdtempSync(path.join(tmpdir(), 'recur-sync-'));
  const file = openSync(path.join(folder, 'probe'), 'w');
  const times = Array.from({ length: 50 }, () => {
    writeSync(file, 'x'.repeat(4096));
    const since = performance.now();
    fdatasyncSync(file);
    return performance.now() - since;
  });
  closeSync(file);
  rmSync(folder, { recursive: true });
  return median(times);
}

/** Proportional set size of these processes and all their descendants, in MiB (Linux). */
export function memoryOf(pids: readonly number[]): number {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc').filter(entry => /^\d+$/.test(entry))) {
    const stat = readOrNothing(`/proc/${name}/stat`);
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const family = (pid: number): number[] => [pid, ...(children.get(pid) ?? []).flatMap(family)];
  const kilobytes = [...new Set(pids.flatMap(family))].map(pid =>
    Number(/^Pss:\s+(\d+)/m.exec(readOrNothing(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0),
  );
  return kilobytes.reduce((sum, value) => sum + value, 0) / 1024;
}

/** Processor time that a process and its living descendants have used, in seconds (Linux). */
export function processorSeconds(pid: number): number {
  const ticksPerSecond = 100;
  let ticks = 0;
  for (const name of readdirSync('/proc').filter(entry => /^\d+$/.test(entry))) {
    const stat = readOrNothing(`/proc/${name}/stat`);
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [own, ended] = [Number(fields[11]) + Number(fields[12]), Number(fields[13]) + Number(fields[14])];
    // children that have ended are in the sums of the parent that waited for them
    if (Number(name) === pid) ticks += own + ended;
    else if (Number(fields[1]) === pid) ticks += own;
  }
  return ticks / ticksPerSecond;
}

/** A process may end while it is being looked at. */
function readOrNothing(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
