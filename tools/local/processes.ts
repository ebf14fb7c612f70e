import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from './failure.js';
import type { Account, Home } from './home.js';
import { identify, isAlive, type ProcessIdentity, signal } from './identity.js';
import { forget, remember } from './record.js';

/** A process of a stack, described so that whoever knows the home can start it: the launcher, a test, a chaos run. */
export interface Part {
  name: string;
  command: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  cwd: string;
  account?: Account | undefined;
}

/** A part that goes on running, with the question whether it is ready to be used. */
export interface Server extends Part {
  isReady(): Promise<boolean>;
  readyWithinMs: number;
}

export interface Running {
  identity: ProcessIdentity;
  /** Settles when the process has ended, with how: "exit 1", "SIGKILL". */
  ended: Promise<string>;
}

const limits = { logBytes: 20 * 1024 * 1024, linesShown: 12, killMs: 5_000, runMs: 120_000 } as const;
const pollMs = 25;

/**
 * Starts a server, records who it is, and waits until it is ready. @throws Failure with the last lines of its log; also
 * when another program answers in its place, which would be taken for it.
 */
export async function startServer(home: Home, server: Server): Promise<Running> {
  if (await server.isReady()) {
    throw new Failure(
      `another program answers where ${server.name} is to listen: run this again, and it gets another port.`,
      69,
    );
  }
  const { running, logStart } = launch(home, server);
  let end: string | undefined;
  void running.ended.then(how => {
    end = how;
  });
  const deadline = Date.now() + server.readyWithinMs;
  while (!((await server.isReady()) && isAlive(running.identity))) {
    if (end !== undefined) throw logged(home, server, logStart, `${server.name} ended before it was ready (${end})`);
    if (Date.now() > deadline) {
      const waited = Math.round(server.readyWithinMs / 1000);
      throw logged(home, server, logStart, `${server.name} was not ready within ${waited} s`);
    }
    await sleep(pollMs);
  }
  return running;
}

/** Runs a part to its end. @returns its output; @throws Failure with the last lines of its log unless it exits 0. */
export async function runToEnd(home: Home, part: Part): Promise<string> {
  const { running, logStart } = launch(home, part);
  const timer = setTimeout(() => signal(running.identity, 'SIGKILL'), limits.runMs);
  const how = await running.ended;
  clearTimeout(timer);
  forget(home, part.name, running.identity);
  if (how === 'exit 0') return readFileSync(logOf(home, part.name)).subarray(logStart).toString('utf8');
  throw logged(home, part, logStart, `${part.name} failed (${how})`);
}

/** Asks a process to end, and kills it when it has not within the time given. Safe for one that has ended. */
export async function stopProcess(identity: ProcessIdentity, ask: NodeJS.Signals, withinMs: number): Promise<void> {
  if (signal(identity, ask) && (await endsWithin(identity, withinMs))) return;
  if (signal(identity, 'SIGKILL')) await endsWithin(identity, limits.killMs);
}

export async function endsWithin(identity: ProcessIdentity, milliseconds: number): Promise<boolean> {
  const deadline = Date.now() + milliseconds;
  while (isAlive(identity)) {
    if (Date.now() > deadline) return false;
    await sleep(pollMs);
  }
  return true;
}

function launch(home: Home, part: Part): { running: Running; logStart: number } {
  const log = logOf(home, part.name);
  keepSmall(log);
  const output = openSync(log, 'a', 0o600);
  const logStart = statSync(log).size;
  const child = spawn(part.command, part.args, {
    cwd: part.cwd,
    env: part.env,
    // A session of its own: Ctrl-C in the terminal reaches the launcher only, which stops the parts in order.
    detached: true,
    stdio: ['ignore', output, output],
    ...part.account,
  });
  closeSync(output);
  const ended = endOf(child);
  const identity = (child.pid === undefined ? undefined : identify(child.pid)) ?? {
    pid: child.pid ?? 0,
    started: 'over',
  };
  remember(home, part.name, identity);
  child.unref();
  return { running: { identity, ended }, logStart };
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise(resolve => {
    child.once('error', error => resolve(error.message));
    child.once('exit', (code, signalName) => resolve(signalName ?? `exit ${code}`));
  });
}

export function logOf(home: Home, name: string): string {
  return path.join(home.logs, `${name}.log`);
}

/** Failure with the end of the process's log, which usually has the reason. */
function logged(home: Home, part: Part, logStart: number, what: string): Failure {
  const log = logOf(home, part.name);
  const lines = readFileSync(log).subarray(logStart).toString('utf8').trimEnd().split('\n').slice(-limits.linesShown);
  const shown = path.relative(process.cwd(), log).startsWith('..') ? log : path.relative(process.cwd(), log);
  return new Failure(`${what}. The end of ${shown}:\n${lines.map(line => `    ${line}`).join('\n')}`);
}

function keepSmall(log: string): void {
  const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  if (size > limits.logBytes) renameSync(log, `${log}.old`);
}
