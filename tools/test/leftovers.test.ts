import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mainOf } from '../local/apps.js';
import type { Home } from '../local/home.js';
import { identify, isAlive, type ProcessIdentity, parseStat, signal } from '../local/identity.js';
import { natsUrl } from '../local/nats.js';
import { type Server, startServer, stopProcess } from '../local/processes.js';
import { alive, becomeLauncher, forget, launcher, recorded, remember, resignAsLauncher } from '../local/record.js';
import { readSettings, saveSettings } from '../local/settings.js';
import { stopStack } from '../local/stack.js';
import { strays } from '../local/strays.js';

const children: ChildProcess[] = [];
let home: Home;

beforeEach(() => {
  const state = mkdtempSync(path.join(tmpdir(), 'recur-leftovers-'));
  home = {
    root: state,
    state,
    logs: state,
    programs: state,
    outside: state,
    programsOutside: state,
    databaseAccount: undefined,
  };
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(home.state, { recursive: true, force: true });
});

async function sleeper(): Promise<ProcessIdentity> {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  children.push(child);
  await once(child, 'spawn');
  const identity = identify(child.pid ?? 0);
  if (identity === undefined) throw new Error('a process that runs has an identity');
  return identity;
}

describe('who a process is', () => {
  it('is its id and the moment it started', async () => {
    const identity = await sleeper();
    expect(isAlive(identity)).toBe(true);
    expect(identify(identity.pid)).toEqual(identity);
  });

  it('reads the start time behind a program name with spaces and parentheses', () => {
    const fields = Array.from({ length: 40 }, (_, index) => String(index + 3));
    expect(parseStat(`7 (a) b (c) ${['S', ...fields.slice(1)].join(' ')}`)).toEqual({ state: 'S', startTicks: '22' });
    expect(parseStat('')).toBeUndefined();
  });

  it('ends with the process', async () => {
    const identity = await sleeper();
    await stopProcess(identity, 'SIGTERM', 5_000);
    expect(isAlive(identity)).toBe(false);
    expect(identify(identity.pid)).toBeUndefined();
  });

  it('is nobody for a zombie, which nobody waits for and no signal reaches', async () => {
    // The shell becomes `sleep 60`, which never collects its dead child.
    const child = spawn('sh', ['-c', 'sh -c "exit 0" & echo $!; exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    children.push(child);
    const [output] = await once(child.stdout, 'data');
    const pid = Number(String(output).trim());
    let identity = identify(pid);
    while (identity !== undefined && isAlive(identity)) identity = identify(pid);
    expect(identify(pid)).toBeUndefined();
  });

  it('is not another process that was given the same id later', async () => {
    const bystander = await sleeper();
    const before = { pid: bystander.pid, started: 'another-boot/1' };
    expect(isAlive(before)).toBe(false);
    expect(signal(before, 'SIGKILL')).toBe(false);
    await stopProcess(before, 'SIGKILL', 1_000);
    expect(isAlive(bystander)).toBe(true);
  });
});

describe('the record of a stack', () => {
  it('finds what still runs, whoever started it', async () => {
    const billing = await sleeper();
    remember(home, 'billing', billing);
    remember(home, 'catalog', { pid: billing.pid, started: 'another-boot/1' });
    expect([...alive(home).keys()]).toEqual(['billing']);
  });

  it('forgets a process only while its name stands for that process', async () => {
    const [first, second] = [await sleeper(), await sleeper()];
    remember(home, 'billing', first);
    remember(home, 'billing', second);
    forget(home, 'billing', first);
    expect(recorded(home)).toEqual({ billing: second });
    forget(home, 'billing', second);
    expect(recorded(home)).toEqual({});
  });

  it.each(['', '{"billing":', 'null'])('is empty where its file is damaged, so that stop and reset go on: %j', text => {
    writeFileSync(path.join(home.state, 'processes.json'), text);
    expect(alive(home)).toEqual(new Map());
  });
});

describe('parts that were started again under another process id', () => {
  let url: string;

  beforeEach(() => {
    const settings = { ...readSettings(home), ports: { nats: 4222, billing: 4223 } };
    saveSettings(home, settings);
    url = natsUrl(settings, 'billing');
    mkdirSync(path.join(home.root, 'apps/billing/dist'), { recursive: true });
    writeFileSync(mainOf(home, 'billing'), 'setInterval(() => {}, 1000);');
  });

  async function app(args: string[], env: NodeJS.ProcessEnv, cwd = home.root): Promise<ProcessIdentity> {
    const child = spawn(process.execPath, args, { stdio: 'ignore', cwd, env: { PATH: process.env.PATH, ...env } });
    children.push(child);
    await once(child, 'spawn');
    return identify(child.pid ?? 0) ?? { pid: 0, started: 'over' };
  }

  it('are found by code and settings, be the path relative, and stopped', async () => {
    const main = mainOf(home, 'billing');
    const started = [
      await app(['--max-semi-space-size=32', main], { NATS_URL: url, PORT: '9' }),
      await app(['dist/main.js'], { NATS_URL: url }, path.join(home.root, 'apps/billing')),
    ];
    expect(strays(home)).toEqual(started.map(identity => ({ name: 'billing', identity })));
    expect(await stopStack(home)).toEqual(['billing']);
    expect(started.map(isAlive)).toEqual([false, false]);
    expect(strays(home)).toEqual([]);
  });

  it('are no processes of other stacks, of other code, of commands, and none that the record knows', async () => {
    const main = mainOf(home, 'billing');
    const others = [
      await app([main], { NATS_URL: `${url}0` }),
      await app([main], {}),
      await app([main, 'migrate'], { NATS_URL: url }),
      await app(['-e', 'setInterval(() => {}, 1000)', 'apps/billing/main.js'], { NATS_URL: url }),
    ];
    const own = await app([main], { NATS_URL: url });
    remember(home, 'billing', own);
    expect(strays(home)).toEqual([]);
    expect(await stopStack(home)).toEqual(['billing']);
    expect([...others, own].map(isAlive)).toEqual([true, true, true, true, false]);
  });
});

describe('the server of a part', () => {
  const server = (more: Partial<Server>): Server => ({
    name: 'billing',
    command: 'sleep',
    args: ['60'],
    env: process.env,
    cwd: home.state,
    isReady: async () => true,
    readyWithinMs: 10_000,
    ...more,
  });

  it('is not started where another program answers, which would be taken for it', async () => {
    await expect(startServer(home, server({}))).rejects.toMatchObject({
      exitCode: 69,
      message: 'another program answers where billing is to listen: run this again, and it gets another port.',
    });
    expect(recorded(home)).toEqual({});
  });

  it('is not ready once its process has ended, though something answers', async () => {
    const isReady = async () => {
      const own = recorded(home).billing;
      return own !== undefined && !isAlive(own);
    };
    const ended = server({ command: 'sh', args: ['-c', 'echo "the port is taken"; exit 3'], isReady });
    await expect(startServer(home, ended)).rejects.toThrow(
      /^billing ended before it was ready \(exit 3\)\. The end of .*:\n {4}the port is taken$/,
    );
  });
});

describe('the settings of a stack', () => {
  it('are the same from run to run, and nobody but reset makes new ones where they are damaged', () => {
    const made = readSettings(home);
    expect(readSettings(home)).toEqual(made);
    for (const text of ['', '{"ports":', 'null', '{}']) {
      writeFileSync(path.join(home.state, 'settings.json'), text);
      expect(() => readSettings(home)).toThrow(/settings\.json is damaged: "npm run reset" erases/);
    }
  });
});

describe('the launcher of a stack', () => {
  it('is one process at a time', async () => {
    const other = await sleeper();
    writeFileSync(path.join(home.state, 'launcher.json'), JSON.stringify(other));
    expect(becomeLauncher(home)).toEqual({ other });
    expect(launcher(home)).toEqual(other);
  });

  it('is replaced when it was killed, and the new one knows it', async () => {
    const killed = await sleeper();
    writeFileSync(path.join(home.state, 'launcher.json'), JSON.stringify(killed));
    await stopProcess(killed, 'SIGKILL', 5_000);
    expect(becomeLauncher(home)).toEqual({ afterDeath: true });
  });

  it.each(['', '{"pid":', 'null'])('is replaced where its file is damaged: %j', text => {
    writeFileSync(path.join(home.state, 'launcher.json'), text);
    expect(launcher(home)).toBeUndefined();
    expect(becomeLauncher(home)).toEqual({ afterDeath: true });
  });

  it('leaves no trace when it resigns', () => {
    expect(becomeLauncher(home)).toEqual({ afterDeath: false });
    resignAsLauncher(home);
    expect(becomeLauncher(home)).toEqual({ afterDeath: false });
  });
});
