import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { apps, mainOf } from './apps.js';
import type { Home } from './home.js';
import { identify, type ProcessIdentity } from './identity.js';
import { jetStreamFolder, natsUrl } from './nats.js';
import { dataFolder } from './postgres.js';
import { alive } from './record.js';
import { redisFolder } from './redis.js';
import { type PartName, type Settings, storedSettings } from './settings.js';

/** A part of a stack that the record does not know. */
export interface Stray {
  name: PartName;
  identity: ProcessIdentity;
}

interface Candidate {
  pid: number;
  args: readonly string[];
  /** The environment as text, NAME=value entries with a separator around each. */
  environment: string;
  /** Undefined where the system does not tell. */
  cwd: string | undefined;
}

/**
 * Parts of a home's stack that were started again under another process id, by hand or by a supervisor. An app counts as
 * this stack's when it runs this checkout's code with this stack's NATS_URL, a server when it uses the home's folder, so
 * that stacks of other checkouts and of tests are never touched.
 */
export function strays(home: Home): Stray[] {
  const settings = storedSettings(home);
  if (settings?.ports.nats === undefined) return [];
  const known = new Set([...alive(home).values()].map(({ pid }) => pid));
  const isPart = partsOf(home, settings);
  return candidates().flatMap(candidate => {
    if (known.has(candidate.pid)) return [];
    // the identity first: should the process id be reused meanwhile, the signal reaches nobody
    const identity = identify(candidate.pid);
    const name = isPart.find(([, is]) => is(candidate))?.[0];
    return name && identity ? [{ name, identity }] : [];
  });
}

type Test = (candidate: Candidate) => boolean;

function partsOf(home: Home, settings: Settings): [PartName, Test][] {
  const runs = (program: string, folder: string): Test => {
    return ({ args, cwd }) =>
      path.basename(args[0] ?? '').startsWith(program) && (args.some(arg => arg.includes(folder)) || cwd === folder);
  };
  const isPostgres = runs('postgres', dataFolder(home));
  return [
    ...apps.map((app): [PartName, Test] => [
      app,
      ({ args, environment, cwd = '/' }) => {
        const at = args.findIndex(arg => path.resolve(cwd, arg) === mainOf(home, app));
        // words behind it make it a command that ends by itself, such as `migrate`
        return at >= 0 && args[at + 1] === undefined && environment.includes(`\0NATS_URL=${natsUrl(settings, app)}\0`);
      },
    ]),
    // children of PostgreSQL, which end with it, have titles without arguments
    ['postgres', candidate => candidate.args.includes('-D') && isPostgres(candidate)],
    ['nats', runs('nats-server', jetStreamFolder(home))],
    ['redis', runs('redis-server', redisFolder(home))],
  ];
}

function candidates(): Candidate[] {
  return process.platform === 'linux' ? candidatesByProc() : candidatesByPs();
}

function candidatesByProc(): Candidate[] {
  const pids = readdirSync('/proc').filter(name => /^\d+$/.test(name));
  return pids.flatMap(pid => {
    try {
      const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
      if (args.length === 0) return [];
      // redis-server replaces its arguments by one title
      const words = args.length === 1 ? (args[0] ?? '').split(' ') : args;
      const environment = `\0${readFileSync(`/proc/${pid}/environ`, 'utf8')}`;
      return [{ pid: Number(pid), args: words, environment, cwd: readlinkSync(`/proc/${pid}/cwd`) }];
    } catch {
      // the process has ended, or belongs to another account
      return [];
    }
  });
}

/** ps prints arguments and environment as one line, so a path with a space is not recognized. */
function candidatesByPs(): Candidate[] {
  const { stdout } = spawnSync('ps', ['-axwwE', '-o', 'pid=,command='], { encoding: 'utf8', maxBuffer: 1 << 26 });
  return (stdout ?? '').split('\n').flatMap(line => {
    const [pid = '', ...words] = line.trim().split(' ');
    const firstVariable = words.findIndex(word => /^[A-Za-z_]\w*=/.test(word));
    const args = firstVariable < 0 ? words : words.slice(0, firstVariable);
    return pid === '' ? [] : [{ pid: Number(pid), args, environment: `\0${words.join('\0')}\0`, cwd: undefined }];
  });
}
