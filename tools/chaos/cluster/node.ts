import { readdirSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { type Home, makeFolder } from '../../local/home.js';
import { type Server, startServer } from '../../local/processes.js';
import type { Network } from './network.js';

/** Something of a cluster that can be lost and come back. */
export interface Member {
  name: string;
  start(): Promise<unknown>;
  /** SIGKILL of all of it, and waits until nothing of it runs. */
  kill(): Promise<void>;
}

/** A machine of a cluster with everything that runs on it. */
export class Node implements Member {
  readonly address: string;
  readonly folder: string;
  /** Programs of the node; each part works in the folder of the node, or in one below it. */
  servers: readonly Server[] = [];

  constructor(
    private readonly home: Home,
    private readonly network: Network,
    readonly name: string,
  ) {
    this.address = network.address(name);
    // outside of the checkout, where the account of the database can go
    makeFolder(home.outside, 0o711);
    this.folder = path.join(home.outside, name);
    makeFolder(this.folder, 0o711);
  }

  async start(): Promise<void> {
    await Promise.all(this.servers.map(server => startServer(this.home, this.network.inside(this.name, server))));
  }

  async kill(): Promise<void> {
    for (let pids = this.pids(); pids.length > 0; pids = this.pids()) {
      for (const pid of pids) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // the process has ended
        }
      }
      await new Promise(resolve => setTimeout(resolve, 20));
    }
  }

  /** Processes by the folder they work in: PostgreSQL is not a child of Patroni. */
  private pids(): number[] {
    const isHere = (pid: string) => {
      try {
        return `${readlinkSync(`/proc/${pid}/cwd`)}/`.startsWith(`${this.folder}/`);
      } catch {
        return false;
      }
    };
    return readdirSync('/proc')
      .filter(name => /^\d+$/.test(name) && isHere(name))
      .map(Number);
  }
}

/** True if a page is answered with 200. */
export async function isOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
