import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { installWithApt, unpackWithApt } from './apt.js';
import { Failure } from './failure.js';
import type { Home } from './home.js';
import type { Say } from './progress.js';

/** A program of the system's packages that recur runs but does not ship. */
interface Program {
  /** Names of its executable, the preferred one first. */
  executables: readonly string[];
  apt: string;
  brew: string;
  /** An image whose entry is the program itself, for machines with Docker and no package manager known here. */
  image: string | undefined;
  /** False where installing the package would set up and start a service: then it is only unpacked. */
  installable: boolean;
}

const programs = {
  'nats-server': {
    executables: ['nats-server'],
    apt: 'nats-server',
    brew: 'nats-server',
    image: 'nats:2.11-alpine',
    installable: true,
  },
  'redis-server': {
    executables: ['redis-server', 'valkey-server'],
    apt: 'redis-server',
    brew: 'redis',
    image: 'redis:7-alpine',
    installable: true,
  },
  chromium: {
    executables: ['chromium', 'chromium-browser', 'google-chrome'],
    apt: 'chromium',
    brew: 'chromium',
    image: undefined,
    installable: true,
  },
  patroni: { executables: ['patroni'], apt: 'patroni', brew: 'patroni', image: undefined, installable: true },
  etcd: { executables: ['etcd'], apt: 'etcd-server', brew: 'etcd', image: undefined, installable: false },
  pgbench: { executables: ['pgbench'], apt: 'postgresql', brew: 'postgresql', image: undefined, installable: false },
} as const satisfies Record<string, Program>;

export type ProgramName = keyof typeof programs;

/**
 * Paths of the programs asked for: from PATH; else from the system's packages, installed or unpacked under the state
 * folder; else through Homebrew; else from a running Docker engine.
 * @throws Failure (69) naming the command that would help, when there is no way.
 */
export function obtain<N extends ProgramName>(home: Home, names: readonly N[], tell: Say): Record<N, string> {
  const missing = names.filter(name => find(home, name) === undefined);
  if (missing.length > 0) fetchPrograms(home, missing, tell);
  return Object.fromEntries(names.map(name => [name, find(home, name) ?? giveUp(missing)])) as Record<N, string>;
}

/** Where a program is, when the machine has it or a former run fetched it. */
export function find(home: Home, name: ProgramName): string | undefined {
  // The servers are in sbin folders on Debian, which an ordinary user's PATH leaves out.
  const beside = ['/usr/local/bin', '/usr/local/sbin', '/usr/sbin', '/sbin', '/opt/homebrew/bin', wrappersOf(home)];
  const folders = [...(process.env.PATH ?? '').split(path.delimiter), ...beside].filter(folder => folder !== '');
  for (const executable of programs[name].executables) {
    const found = folders.map(folder => path.join(folder, executable)).find(works);
    if (found !== undefined) return found;
  }
  return undefined;
}

function fetchPrograms(home: Home, missing: readonly ProgramName[], tell: Say): void {
  const title = missing.join(' and ');
  const log = path.join(home.logs, 'install.log');
  if (has('apt-get')) {
    fetchWithApt(home, missing, log, tell);
  } else if (has('brew')) {
    tell(`  · installing ${title} with Homebrew …`);
    spawnSync('brew', ['install', ...missing.map(name => programs[name].brew)], { stdio: 'ignore' });
  } else {
    fetchWithDocker(home, missing, tell);
  }
}

function fetchWithDocker(home: Home, missing: readonly ProgramName[], tell: Say): void {
  const images = missing.map(name => ({ name, image: programs[name].image }));
  const dockerAnswers =
    has('docker') && spawnSync('docker', ['info'], { stdio: 'ignore', timeout: 10_000 }).status === 0;
  if (!dockerAnswers) giveUp(missing);
  for (const { name, image } of images) {
    if (image === undefined) giveUp(missing);
    tell(`  · fetching the image ${image} with Docker …`);
    spawnSync('docker', ['pull', '--quiet', image], { stdio: 'ignore', timeout: 600_000 });
    writeWrapper(home, name, dockerWrapper(home, name, image));
  }
}

function fetchWithApt(home: Home, missing: readonly ProgramName[], log: string, tell: Say): void {
  const root = process.getuid?.() === 0;
  // Where a service manager runs, installing a server package starts the server: there it is unpacked instead.
  const servicesWouldStart = existsSync('/run/systemd/system');
  const install = missing.filter(name => root && !servicesWouldStart && programs[name].installable);
  const unpack = missing.filter(name => !install.includes(name));
  if (install.length > 0) {
    tell(`  · installing ${install.join(' and ')} with apt-get …`);
    installWithApt(
      install.map(name => programs[name].apt),
      log,
    );
  }
  for (const name of unpack) {
    tell(`  · downloading ${name} with apt-get, for this checkout only …`);
    const folder = path.join(home.programs, name);
    const found = unpackWithApt(programs[name].apt, programs[name].executables, folder, log);
    if (found === undefined) giveUp(missing);
    const libraries = quoted(found.libraries.join(':'));
    writeWrapper(home, name, `export LD_LIBRARY_PATH=${libraries}\nexec ${quoted(found.executable)} "$@"\n`);
  }
  // Some 25 MB of package lists, where they had to be read anew; the next time they would be old.
  rmSync(path.join(home.programs, 'apt'), { recursive: true, force: true });
}

/** Host networking makes the container's server listen where a native one would; only Linux engines offer it. */
function dockerWrapper(home: Home, name: ProgramName, image: string): string {
  const container = `recur-${createHash('sha256').update(home.state).digest('hex').slice(0, 8)}-${name}`;
  const user = `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;
  const options = `--rm --network host --user ${user} --volume ${quoted(`${home.state}:${home.state}`)} --volume /tmp:/tmp`;
  return [
    // The arguments name this instance (its port, its folder): one that outlived its client is removed first.
    `name="${container}-$(printf '%s' "$*" | cksum | cut -d' ' -f1)"`,
    'docker rm --force "$name" >/dev/null 2>&1',
    `exec docker run --name "$name" ${options} --entrypoint ${name} ${image} "$@"\n`,
  ].join('\n');
}

function writeWrapper(home: Home, name: ProgramName, body: string): void {
  mkdirSync(wrappersOf(home), { recursive: true });
  writeFileSync(path.join(wrappersOf(home), name), `#!/bin/sh\n${body}`, { mode: 0o755 });
}

/** A word of a shell script that stands for exactly this text. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function wrappersOf(home: Home): string {
  return path.join(home.programs, 'bin');
}

function has(command: string): boolean {
  return (process.env.PATH ?? '').split(path.delimiter).some(folder => isExecutable(path.join(folder, command)));
}

/** Some packages put a script in place that only says what else to install, so the program is asked its version. */
function works(file: string): boolean {
  return isExecutable(file) && spawnSync(file, ['--version'], { stdio: 'ignore', timeout: 20_000 }).status === 0;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function giveUp(missing: readonly ProgramName[]): never {
  const apt = missing.map(name => programs[name].apt).join(' ');
  const brew = missing.map(name => programs[name].brew).join(' ');
  throw new Failure(
    `${missing.join(' and ')} could not be found or fetched: run "apt-get install ${apt}" (Debian, Ubuntu), "brew install ${brew}" (macOS) or your system's counterpart, then run this again.`,
    69,
  );
}
