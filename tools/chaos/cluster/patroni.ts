import { chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Failure } from '../../local/failure.js';
import type { Home } from '../../local/home.js';
import type { Server } from '../../local/processes.js';
import type { Settings } from '../../local/settings.js';
import { isOk, type Node } from './node.js';

const debian = '/usr/lib/postgresql';

/** Patroni gives up a primary that it has not heard of for `ttl` seconds; less it does not permit. */
const dcs = {
  ttl: 20,
  loop_wait: 3,
  retry_timeout: 5,
  synchronous_mode: true,
  postgresql: {
    use_pg_rewind: true,
    parameters: { max_connections: 300, max_wal_size: '2GB', jit: 'off', timezone: 'UTC', unix_socket_directories: '' },
  },
};

export function etcdMember(program: string, node: Node, all: readonly Node[]): Server {
  const { address, folder } = node;
  const [client, peer] = [`http://${address}:2379`, `http://${address}:2380`];
  const options = {
    name: node.name,
    'data-dir': path.join(folder, 'etcd'),
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': all.map(other => `${other.name}=http://${other.address}:2380`).join(','),
    'enable-v2': 'true',
    // all nodes share the disk and processors of one machine
    'heartbeat-interval': '250',
    'election-timeout': '2500',
  };
  return {
    name: `${node.name}-etcd`,
    command: program,
    args: Object.entries(options).map(([name, value]) => `--${name}=${value}`),
    env: { ...process.env, GOMAXPROCS: '1' },
    cwd: folder,
    isReady: () => isOk(`${client}/health`),
    readyWithinMs: 60_000,
  };
}

/** Patroni with the PostgreSQL that it starts: ready when that answers, as the primary or as a standby. */
export function patroniMember(
  home: Home,
  settings: Settings,
  program: string,
  node: Node,
  all: readonly Node[],
): Server {
  const { name, address } = node;
  const folder = path.join(node.folder, 'patroni');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = path.join(folder, 'patroni.yml');
  const password = settings.passwords.postgres;
  const configuration = {
    scope: 'recur',
    name,
    restapi: { listen: `${address}:8008`, connect_address: `${address}:8008` },
    // by version 2 of the API: through version 3, Patroni 3.0 puts its name over that of another holder of the lock
    etcd: { hosts: all.map(other => `${other.address}:2379`) },
    bootstrap: { dcs, initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, { 'lc-ctype': 'C.UTF-8' }, 'data-checksums'] },
    postgresql: {
      listen: `${address}:5432`,
      connect_address: `${address}:5432`,
      data_dir: path.join(folder, 'data'),
      bin_dir: postgresFolder(),
      pgpass: path.join(folder, 'pgpass'),
      authentication: {
        superuser: { username: 'postgres', password },
        replication: { username: 'replicator', password },
      },
      pg_hba: ['host replication replicator all scram-sha-256', 'host all all all scram-sha-256'],
      basebackup: { checkpoint: 'fast' },
    },
  };
  // JSON is YAML
  writeFileSync(file, JSON.stringify(configuration, null, 2), { mode: 0o600 });
  const account = home.databaseAccount;
  if (account !== undefined) for (const own of [folder, file]) chownSync(own, account.uid, account.gid);
  return {
    name: `${name}-patroni`,
    command: program,
    args: [file],
    env: { PATH: process.env.PATH, LC_ALL: 'C' },
    cwd: folder,
    account,
    isReady: () => isOk(`http://${address}:8008/health`),
    readyWithinMs: 120_000,
  };
}

/** The node that holds the lock of the primary. */
export const postgresPrimary = (nodes: readonly Node[]) => inRole(nodes, 'primary');

/** There are a primary and a synchronous standby, and etcd has all its members. */
export async function postgresIsWhole(nodes: readonly Node[]): Promise<boolean> {
  const [primary, standby] = await Promise.all([inRole(nodes, 'primary'), inRole(nodes, 'synchronous')]);
  const health = await Promise.all(nodes.map(({ address }) => isOk(`http://${address}:2379/health`)));
  return primary !== undefined && standby !== undefined && health.every(Boolean);
}

async function inRole(nodes: readonly Node[], role: string): Promise<Node | undefined> {
  const answers = await Promise.all(nodes.slice(0, -1).map(({ address }) => isOk(`http://${address}:8008/${role}`)));
  return nodes[answers.indexOf(true)];
}

/** PostgreSQL with the programs that Patroni calls, which the npm package lacks. */
function postgresFolder(): string {
  const folders = existsSync(debian) ? readdirSync(debian).map(version => path.join(debian, version, 'bin')) : [];
  const places = [...folders, ...(process.env.PATH ?? '').split(path.delimiter)];
  const found = places.find(folder =>
    ['postgres', 'pg_basebackup', 'pg_rewind'].every(name => existsSync(path.join(folder, name))),
  );
  if (found !== undefined) return found;
  throw new Failure('Patroni needs a whole PostgreSQL: run "apt-get install postgresql", then run this again.', 69);
}
