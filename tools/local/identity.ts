import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * A process that will not be mistaken for another one: process ids are used again, a process id with the moment
 * its process started is not.
 */
export interface ProcessIdentity {
  pid: number;
  started: string;
}

/** Identity of the process with this id, or undefined. A zombie does not count: it holds no port and no file. */
export function identify(pid: number): ProcessIdentity | undefined {
  const started = process.platform === 'linux' ? startedByProc(pid) : startedByPs(pid);
  return started === undefined ? undefined : { pid, started };
}

export function isAlive(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.started === identity.started;
}

/** Signals the process only if it still is the one meant. Returns whether it was. */
export function signal(identity: ProcessIdentity, name: NodeJS.Signals): boolean {
  if (!isAlive(identity)) return false;
  try {
    return process.kill(identity.pid, name);
  } catch {
    return false;
  }
}

/**
 * State and start time (clock ticks since boot) from a line of /proc/<pid>/stat. The second field is the program's
 * name in parentheses and may itself contain spaces and parentheses, so counting starts after the last one.
 */
export function parseStat(line: string): { state: string; startTicks: string } | undefined {
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const state = fields[0];
  const startTicks = fields[19];
  return state === undefined || startTicks === undefined ? undefined : { state, startTicks };
}

/** The command line of a process, its arguments separated by spaces; empty when there is none. */
export function commandLine(pid: number): string {
  if (process.platform === 'linux') return readOr(`/proc/${pid}/cmdline`, '').replaceAll('\0', ' ').trim();
  return spawnSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).stdout?.trim() ?? '';
}

function startedByProc(pid: number): string | undefined {
  const stat = parseStat(readOr(`/proc/${pid}/stat`, ''));
  if (stat === undefined || stat.state === 'Z' || stat.state === 'X') return undefined;
  // Ticks count from boot: the same pair can come again after a restart of the machine, so the boot is part of it.
  return `${readOr('/proc/sys/kernel/random/boot_id', 'boot').trim()}/${stat.startTicks}`;
}

function startedByPs(pid: number): string | undefined {
  const { stdout, status } = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' });
  const [state = '', ...started] = status === 0 ? stdout.trim().split(/\s+/) : [];
  return state === '' || state.startsWith('Z') ? undefined : started.join(' ');
}

function readOr(file: string, otherwise: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return otherwise;
  }
}
