import { linkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Home } from './home.js';
import { identify, isAlive, type ProcessIdentity } from './identity.js';
import { readJson, writePrivately } from './settings.js';

/**
 * Which processes a stack consists of, on disk from the moment each one starts: whatever happens to the launcher,
 * the next command finds what it left behind, and nothing else.
 */
type Recorded = { [name: string]: ProcessIdentity };

export function recorded(home: Home): Recorded {
  return readJson<Recorded>(recordFile(home)) ?? {};
}

/** The recorded processes that are alive. */
export function alive(home: Home): Map<string, ProcessIdentity> {
  return new Map(Object.entries(recorded(home)).filter(([, identity]) => isAlive(identity)));
}

export function remember(home: Home, name: string, identity: ProcessIdentity): void {
  writePrivately(recordFile(home), { ...recorded(home), [name]: identity });
}

/** Only if the name still stands for this process: it may have been started again meanwhile. */
export function forget(home: Home, name: string, identity: ProcessIdentity): void {
  const { [name]: current, ...others } = recorded(home);
  if (current?.pid === identity.pid && current.started === identity.started) writePrivately(recordFile(home), others);
}

/** How a process became the launcher of a home's stack: after one that was killed, or not at all because `other` is. */
export type Claim = { other: ProcessIdentity } | { other?: undefined; afterDeath: boolean };

/** Makes this process the launcher of the home's stack, unless another living process is it already. */
export function becomeLauncher(home: Home): Claim {
  const me = identify(process.pid);
  if (me === undefined) throw new Error('this process cannot identify itself');
  const mine = `${launcherFile(home)}.${process.pid}`;
  writeFileSync(mine, JSON.stringify(me), { mode: 0o600 });
  let afterDeath = false;
  try {
    for (;;) {
      // A link is made by one process only, however many try at once.
      if (linked(mine, launcherFile(home))) return { afterDeath };
      const other = launcher(home) ?? replaceStale(home);
      if (other !== undefined) return { other };
      afterDeath = true;
    }
  } finally {
    rmSync(mine, { force: true });
  }
}

/** The living launcher of the home's stack, if there is one. */
export function launcher(home: Home): ProcessIdentity | undefined {
  const other = readJson<ProcessIdentity>(launcherFile(home));
  return other !== undefined && other.pid !== process.pid && isAlive(other) ? other : undefined;
}

export function resignAsLauncher(home: Home): void {
  if (readJson<ProcessIdentity>(launcherFile(home))?.pid === process.pid) rmSync(launcherFile(home), { force: true });
}

/** Moves a dead launcher's file away. A living one that came in between is put back and returned. */
function replaceStale(home: Home): ProcessIdentity | undefined {
  const moved = `${launcherFile(home)}.${process.pid}.stale`;
  try {
    renameSync(launcherFile(home), moved);
  } catch {
    return undefined;
  }
  const found = readJson<ProcessIdentity>(moved);
  const living = found !== undefined && isAlive(found) ? found : undefined;
  if (living !== undefined) linked(moved, launcherFile(home));
  rmSync(moved, { force: true });
  return living;
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch {
    return false;
  }
}

function recordFile(home: Home): string {
  return path.join(home.state, 'processes.json');
}

function launcherFile(home: Home): string {
  return path.join(home.state, 'launcher.json');
}
