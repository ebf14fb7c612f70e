import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Home } from '../../local/home.js';
import { logins } from '../../local/nats.js';
import type { Server } from '../../local/processes.js';
import type { Settings } from '../../local/settings.js';
import { isOk, type Node } from './node.js';

/** nats-server as one of a cluster. It is ready when its copies of the streams are. */
export function natsMember(home: Home, settings: Settings, program: string, node: Node, all: readonly Node[]): Server {
  const { name, address, folder } = node;
  const file = path.join(folder, 'nats.conf');
  const routes = all.map(other => JSON.stringify(`nats-route://${other.address}:6222`));
  const lines = [
    `server_name: ${name}`,
    `listen: "${address}:4222"`,
    `http: "${address}:8222"`,
    'max_payload: 4MB',
    // a connection to a server that was cut off is given up soon, so that it does not stand in the way of a new one
    'ping_interval: "2s"',
    'ping_max: 2',
    // the included path is taken from this file's folder
    `include ${JSON.stringify(path.relative(folder, path.join(home.root, 'deploy/nats-users.conf')))}`,
    `jetstream { store_dir: ${JSON.stringify(folder)} }`,
    `cluster { name: recur, listen: "${address}:6222", routes: [${routes.join(', ')}] }`,
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  return {
    name,
    command: program,
    args: ['-c', file],
    env: { ...process.env, ...logins(settings), GOMAXPROCS: '1' },
    cwd: folder,
    isReady: () => isOk(`http://${address}:8222/healthz`),
    readyWithinMs: 60_000,
  };
}

export async function natsIsWhole(nodes: readonly Node[]): Promise<boolean> {
  return (await Promise.all(nodes.map(({ address }) => isOk(`http://${address}:8222/healthz`)))).every(Boolean);
}
