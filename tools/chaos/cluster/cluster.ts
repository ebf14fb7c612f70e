import { randomUUID } from 'node:crypto';
import { apps, migration } from '../../local/apps.js';
import { obtain } from '../../local/binaries.js';
import type { Home } from '../../local/home.js';
import { choosePorts } from '../../local/ports.js';
import { createDatabases } from '../../local/postgres.js';
import { runToEnd } from '../../local/processes.js';
import { say, step } from '../../local/progress.js';
import {
  type Dependency,
  databaseUrl,
  type Merchant,
  readSettings,
  type Settings,
  services,
} from '../../local/settings.js';
import { createMerchant } from '../../local/stack.js';
import { removeHome } from '../../local/temporary.js';
import { startBalancer } from '../../upgrade/balancer.js';
import { natsIsWhole, natsMember } from './nats.js';
import { Network } from './network.js';
import { type Member, Node } from './node.js';
import { etcdMember, patroniMember, postgresIsWhole, postgresPrimary } from './patroni.js';
import { redisIsWhole, redisMembers, redisPrimary } from './redis.js';
import { balanced, type Replica, twoOfEach } from './replicas.js';

const wholeWithinMs = 120_000;
const kinds: readonly Dependency[] = ['nats', 'postgres', 'redis'];

/** Three nodes of each dependency. The third of PostgreSQL and of Redis has no data, and a vote. */
export type Nodes = Record<Dependency, readonly Node[]>;

export interface Cluster {
  baseUrl: string;
  network: Network;
  nodes: Nodes;
  replicas: readonly Replica[];
  merchant(name: string): Promise<Merchant>;
  /** URL of the server that takes writes now, for its superuser. */
  databaseUrl(): Promise<string>;
  /** The role of a node: `primary`, or nothing. */
  role(node: Node): Promise<string>;
  /** Waits until every copy of everything is there again. */
  whole(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a cluster in a temporary home, on one machine. On failure nothing stays. */
export async function startCluster(home: Home): Promise<Cluster> {
  const names = kinds.flatMap(kind => [1, 2, 3].map(at => `${kind}-${at}`));
  const network = new Network(names);
  const three = (kind: Dependency) => [1, 2, 3].map(at => new Node(home, network, `${kind}-${at}`));
  const nodes: Nodes = { nats: three('nats'), postgres: three('postgres'), redis: three('redis') };
  const members: Member[] = Object.values(nodes).flat();
  const ends: (() => unknown)[] = [];
  const close = async () => {
    for (const end of ends.splice(0)) await end();
    await Promise.all(members.map(member => member.kill()));
    network.close();
    await removeHome(home);
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(name, () => void close().then(() => process.exit(130)));
  try {
    const settings = await placed(home, nodes);
    await startNodes(home, settings, nodes);
    await step(say, 'databases and streams migrated', () => prepare(home, settings, nodes.postgres));
    const balancer = await startBalancer(0);
    ends.push(() => balancer.close());
    const replicas = await twoOfEach(home, settings, balancer.url);
    members.push(...replicas);
    await step(say, 'two replicas of each app ready', () => Promise.all(replicas.map(replica => replica.start())));
    ends.push(
      balanced(
        balancer,
        replicas.filter(({ port, name }) => port > 0 && name.startsWith('gateway')),
      ),
    );
    return {
      baseUrl: balancer.url,
      network,
      nodes,
      replicas,
      merchant: name => createMerchant(home, settings, name, `owner-${randomUUID()}@example.com`),
      databaseUrl: () => urlOfPrimary(settings, nodes.postgres),
      async role(node) {
        const primaries = await Promise.all([postgresPrimary(nodes.postgres), redisPrimary(settings, nodes.redis)]);
        return primaries.includes(node) ? 'primary' : '';
      },
      whole: () => isSoon('the cluster is whole', () => isWhole(settings, nodes)),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The settings of a home with the addresses of the nodes, and ports for the commands that run once. */
async function placed(home: Home, nodes: Nodes): Promise<Settings> {
  const at = (list: readonly Node[], port: number) => list.map(({ address }) => `${address}:${port}`).join(',');
  const hosts = {
    nats: at(nodes.nats, 4222),
    postgres: at(nodes.postgres.slice(0, -1), 5432),
    redis: at(nodes.redis, 26_379),
  };
  const ports = await choosePorts([...apps, 'gatewayOps'], {});
  return { ...readSettings(home), ports, hosts };
}

async function startNodes(home: Home, settings: Settings, nodes: Nodes): Promise<void> {
  const programs = await step(say, 'nats-server, redis-server, patroni and etcd found', async () =>
    obtain(home, ['nats-server', 'redis-server', 'patroni', 'etcd'], say),
  );
  for (const node of nodes.nats) node.servers = [natsMember(home, settings, programs['nats-server'], node, nodes.nats)];
  for (const node of nodes.redis) node.servers = redisMembers(settings, programs['redis-server'], node, nodes.redis);
  for (const node of nodes.postgres) {
    const etcd = etcdMember(programs.etcd, node, nodes.postgres);
    const isWitness = node === nodes.postgres.at(-1);
    const patroni = () => patroniMember(home, settings, programs.patroni, node, nodes.postgres);
    node.servers = isWitness ? [etcd] : [etcd, patroni()];
  }
  await step(say, 'nine nodes ready', async () => {
    await Promise.all(
      Object.values(nodes)
        .flat()
        .map(node => node.start()),
    );
    await isSoon('the cluster is whole', () => isWhole(settings, nodes));
  });
}

async function prepare(home: Home, settings: Settings, nodes: readonly Node[]): Promise<void> {
  const primary = await postgresPrimary(nodes);
  await createDatabases(home, { ...settings, hosts: { postgres: `${primary?.address}:5432` } });
  const onAll = { STREAM_REPLICAS: String(nodes.length) };
  await Promise.all(services.map(service => runToEnd(home, migration(home, settings, service, onAll))));
}

async function urlOfPrimary(settings: Settings, nodes: readonly Node[]): Promise<string> {
  const primary = await postgresPrimary(nodes);
  return databaseUrl({ ...settings, hosts: { postgres: `${primary?.address}:5432` } }, 'postgres', 'postgres');
}

async function isWhole(settings: Settings, { nats, postgres, redis }: Nodes): Promise<boolean> {
  const answers = [natsIsWhole(nats), postgresIsWhole(postgres), redisIsWhole(settings, redis)];
  return (await Promise.all(answers)).every(Boolean);
}

async function isSoon(what: string, condition: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + wholeWithinMs; !(await condition()); ) {
    if (Date.now() > deadline) throw new Error(`not within ${wholeWithinMs / 1000} s: ${what}`);
    await new Promise(resolve => setTimeout(resolve, 200));
  }
}
