import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, chmodSync, constants, existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Failure } from './failure.js';

/** A system account that PostgreSQL runs as when we are root, because PostgreSQL refuses to run as root. */
export interface Account {
  uid: number;
  gid: number;
}

/** Where a stack keeps what it must not lose (settings, data) and what it may (logs). */
export interface Home {
  /** The checkout whose apps run. */
  root: string;
  /** The state folder: `.local` of the checkout, the one that RECUR_STATE names, or a temporary folder. */
  state: string;
  logs: string;
  /** Programs that were fetched because the machine lacks them: of the checkout, whatever the state folder. */
  programs: string;
  /** Folder outside the state folder that the database's account can enter; created only when needed. */
  outside: string;
  /** The same for programs that the database's account must be able to run. */
  programsOutside: string;
  /** Undefined unless we are root. */
  databaseAccount: Account | undefined;
}

/** The checkout this file belongs to, whether it runs from source or from dist. */
export function checkoutRoot(): string {
  let folder = path.dirname(fileURLToPath(import.meta.url));
  while (!isCheckout(folder)) {
    const parent = path.dirname(folder);
    if (parent === folder) throw new Error(`no checkout of recur above ${fileURLToPath(import.meta.url)}`);
    folder = parent;
  }
  return folder;
}

function isCheckout(folder: string): boolean {
  const file = path.join(folder, 'package.json');
  return existsSync(file) && (JSON.parse(readFileSync(file, 'utf8')) as { name?: string }).name === 'recur';
}

/** The home of a state folder; by default the one of this checkout's stack. Creates the folders. */
export function openHome(state = process.env.RECUR_STATE || path.join(checkoutRoot(), '.local')): Home {
  const databaseAccount = process.getuid?.() === 0 ? accountForDatabase() : undefined;
  const own = path.join(checkoutRoot(), '.local');
  const home = {
    root: checkoutRoot(),
    state,
    logs: path.join(state, 'logs'),
    programs: path.join(own, 'programs'),
    outside: outsideOf(state),
    programsOutside: path.join(outsideOf(own), 'programs'),
    databaseAccount,
  };
  // No other account may read it; the database's account only passes through to its own folder.
  makeFolder(state, databaseAccount === undefined ? 0o700 : 0o711);
  makeFolder(home.logs, 0o700);
  return home;
}

function outsideOf(state: string): string {
  const hash = createHash('sha256').update(state).digest('hex').slice(0, 12);
  return path.join(systemFolder(), `recur-${hash}`);
}

/** @throws Failure when this account may not: most likely another one has run the stack here before. */
export function makeFolder(folder: string, mode: number): void {
  try {
    mkdirSync(folder, { recursive: true, mode });
    if ((statSync(folder).mode & 0o777) !== mode) chmodSync(folder, mode);
    accessSync(folder, constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Failure(
      `${folder} cannot be written by this account (${code}): run this as the account it belongs to, or remove it first.`,
    );
  }
}

/** True when the account can run this file or enter this folder; asks the system instead of interpreting modes. */
export function canReach(account: Account, target: string): boolean {
  const test = spawnSync('/bin/sh', ['-c', 'test -x "$0"', target], { ...account, cwd: '/' });
  return test.status === 0;
}

/** Erases everything of a home but the programs that were unpacked for it. */
export function eraseHome(home: Home): void {
  rmSync(home.outside, { recursive: true, force: true });
  for (const name of [
    'postgres',
    'nats',
    'redis',
    'mail',
    'logs',
    'settings.json',
    'stack.json',
    'processes.json',
    'launcher.json',
  ]) {
    rmSync(path.join(home.state, name), { recursive: true, force: true });
  }
}

/** A folder that outlives a restart of the machine if root may write there, else a temporary one. */
function systemFolder(): string {
  try {
    accessSync('/var/lib', constants.W_OK);
    return '/var/lib';
  } catch {
    return tmpdir();
  }
}

function accountForDatabase(): Account {
  const account = lookUp('postgres') ?? createAccount() ?? lookUp('nobody');
  if (account !== undefined) return account;
  throw new Failure(
    'PostgreSQL does not run as root and no account "postgres" could be made for it: run "useradd --system postgres", or run this as an ordinary user.',
    69,
  );
}

function createAccount(): Account | undefined {
  const made =
    spawnSync('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/bin/false', 'postgres'])
      .status === 0 || spawnSync('adduser', ['-S', '-D', '-H', '-s', '/bin/false', 'postgres']).status === 0;
  return made ? lookUp('postgres') : undefined;
}

function lookUp(name: string): Account | undefined {
  const [uid, gid] = ['-u', '-g'].map(flag => {
    const { status, stdout } = spawnSync('id', [flag, name], { encoding: 'utf8' });
    return status === 0 ? Number(stdout.trim()) : undefined;
  });
  return uid === undefined || gid === undefined ? undefined : { uid, gid };
}
