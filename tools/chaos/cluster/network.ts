import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import type { Part } from '../../local/processes.js';

const namespaces = '/run/netns';
/** A hardware address that no interface has: what is sent there is lost without a word. */
const nowhere = '02:00:00:00:00:01';

/**
 * An address for each node. As root on Linux each has a network namespace of its own, with a cable to a bridge of this
 * machine, and can be cut off; else all are loopback addresses.
 */
export class Network {
  readonly separate: boolean;
  private readonly bridge = `r${process.pid}`;

  constructor(private readonly names: readonly string[]) {
    removeAbandoned();
    this.separate = process.getuid?.() === 0 && this.lay();
  }

  address(name: string): string {
    const { pid } = process;
    const last = this.names.indexOf(name) + 1;
    // 198.18.0.0/15 is set aside for measurements
    return this.separate ? `198.18.${pid % 250}.${last}` : `127.${1 + (pid % 250)}.0.${last}`;
  }

  /** A part as it runs on a node. */
  inside<P extends Part>(name: string, part: P): P {
    if (!this.separate) return part;
    const { account, command, args } = part;
    const as = account === undefined ? [] : ['--setuid', String(account.uid), '--setgid', String(account.gid)];
    const words = [`--net=${namespaces}/${this.space(name)}`, ...as, '--', command, ...args];
    return { ...part, command: 'nsenter', args: words, account: undefined };
  }

  /** Pulls the cable of a node. */
  cutOff(name: string): void {
    ip('link', 'set', this.cable(name), 'down');
  }

  /** Keeps a node from its peers; apps go on reaching it. */
  cutFrom(name: string, peers: readonly string[]): void {
    for (const peer of peers) {
      const place = ['to', this.address(peer), 'lladdr', nowhere, 'dev', 'eth0', 'nud', 'permanent'];
      ip('-n', this.space(name), 'neigh', 'replace', ...place);
    }
  }

  heal(name: string): void {
    ip('link', 'set', this.cable(name), 'up');
    ip('-n', this.space(name), 'neigh', 'flush', 'dev', 'eth0', 'nud', 'permanent');
  }

  close(): void {
    if (this.separate) remove(process.pid);
  }

  private lay(): boolean {
    try {
      ip('link', 'add', this.bridge, 'type', 'bridge');
      ip('addr', 'add', `198.18.${process.pid % 250}.254/24`, 'dev', this.bridge);
      ip('link', 'set', this.bridge, 'up');
      for (const [at, name] of this.names.entries()) {
        const [space, cable] = [this.space(name), this.cable(name)];
        ip('netns', 'add', space);
        ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space);
        ip('link', 'set', cable, 'master', this.bridge, 'up');
        ip('-n', space, 'addr', 'add', `198.18.${process.pid % 250}.${at + 1}/24`, 'dev', 'eth0');
        for (const device of ['lo', 'eth0']) ip('-n', space, 'link', 'set', device, 'up');
      }
      return true;
    } catch {
      remove(process.pid);
      return false;
    }
  }

  private space(name: string): string {
    return `recur-${process.pid}-${name}`;
  }

  private cable(name: string): string {
    return `${this.bridge}.${this.names.indexOf(name)}`;
  }
}

/** Removes what a run whose process was killed has left. */
function removeAbandoned(): void {
  const owners = spaces().map(space => Number(space.split('-')[1]));
  for (const pid of new Set(owners)) if (!existsSync(`/proc/${pid}`)) remove(pid);
}

function remove(pid: number): void {
  for (const space of spaces()) {
    if (!space.startsWith(`recur-${pid}-`)) continue;
    for (const inside of run('netns', 'pids', space).stdout.split('\n').filter(Boolean)) end(Number(inside));
    run('netns', 'del', space);
  }
  // a namespace lives on, and its cable, while a connection of it waits for an answer
  for (const cable of cablesOf(pid)) run('link', 'del', cable);
  run('link', 'del', `r${pid}`);
}

function cablesOf(pid: number): string[] {
  const { stdout } = run('-o', 'link', 'show', 'master', `r${pid}`);
  return [...stdout.matchAll(/^\d+: (r\d+\.\d+)@/gm)].map(([, cable]) => cable ?? '');
}

function spaces(): string[] {
  return existsSync(namespaces) ? readdirSync(namespaces).filter(name => /^recur-\d+-/.test(name)) : [];
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // the process has ended
  }
}

const run = (...args: string[]) => spawnSync('ip', args, { encoding: 'utf8' });

function ip(...args: string[]): void {
  const { status, stderr } = run(...args);
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr}`);
}
