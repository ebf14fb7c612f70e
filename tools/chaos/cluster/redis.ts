import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { firstWords } from '../../local/firstWords.js';
import type { Server } from '../../local/processes.js';
import { sentinelName } from '../../local/redis.js';
import type { Settings } from '../../local/settings.js';
import type { Node } from './node.js';

/** A sentinel, and Redis beside it but on the last node. The first one is the primary to begin with. */
export function redisMembers(settings: Settings, program: string, node: Node, all: readonly Node[]): Server[] {
  const { redisPassword: password } = settings;
  const primary = all[0]?.address;
  const common = [`bind ${node.address}`, `dir ${node.folder}`, `requirepass ${password}`];
  const redis = [
    'port 6379',
    `masterauth ${password}`,
    'save ""',
    'appendonly yes',
    'maxmemory-policy noeviction',
    ...(node.address === primary ? [] : [`replicaof ${primary} 6379`]),
  ];
  const sentinel = [
    'port 26379',
    `sentinel monitor ${sentinelName} ${primary} 6379 2`,
    `sentinel auth-pass ${sentinelName} ${password}`,
    `sentinel down-after-milliseconds ${sentinelName} 3000`,
    `sentinel failover-timeout ${sentinelName} 10000`,
  ];
  const server = (kind: string, port: number, lines: string[], more: string[]): Server => {
    const file = path.join(node.folder, `${kind}.conf`);
    // both write what they have learnt into their files
    if (!existsSync(file)) writeFileSync(file, `${[...common, ...lines].join('\n')}\n`, { mode: 0o600 });
    return {
      name: `${node.name}-${kind}`,
      command: program,
      args: [file, ...more],
      env: process.env,
      cwd: node.folder,
      isReady: async () => (await asked(settings, node, port, 'PING')).endsWith('+PONG\r\n'),
      readyWithinMs: 30_000,
    };
  };
  const watcher = server('sentinel', 26_379, sentinel, ['--sentinel']);
  return node === all.at(-1) ? [watcher] : [server('redis', 6379, redis, []), watcher];
}

/** There is a primary with a replica, and every sentinel knows which it is. */
export async function redisIsWhole(settings: Settings, nodes: readonly Node[]): Promise<boolean> {
  const primary = await redisPrimary(settings, nodes);
  if (primary === undefined) return false;
  const views = nodes.map(node => asked(settings, node, 26_379, `SENTINEL get-master-addr-by-name ${sentinelName}`));
  return (await Promise.all(views)).every(view => view.includes(`\n${primary.address}\r`));
}

/** The node with the Redis that takes writes and has a replica. */
export async function redisPrimary(settings: Settings, nodes: readonly Node[]): Promise<Node | undefined> {
  const answers = await Promise.all(nodes.slice(0, -1).map(node => asked(settings, node, 6379, 'INFO replication')));
  return nodes[answers.findIndex(answer => /role:master\r\nconnected_slaves:1\r\n/.test(answer))];
}

const asked = (settings: Settings, { address }: Node, port: number, command: string) =>
  firstWords(port, `AUTH ${settings.redisPassword}\r\n${command}\r\n`, address);
