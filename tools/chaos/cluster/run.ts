import { allDelivered, databases, settled } from '../../journeys/oracle.js';
import { type Receiver, startReceiver } from '../../journeys/receiver.js';
import { openShop, type Shop } from '../../journeys/shop.js';
import { say, step } from '../../local/progress.js';
import { openTemporaryHome } from '../../local/temporary.js';
import { audit, heard, type LoadReport, type Purchase, startLoad } from '../load.js';
import { type Cluster, startCluster } from './cluster.js';
import { type Harm, harms, type Part } from './harm.js';

/** Purchases at work, and how long a fault lasts at least. */
const limits = { buyers: 2, before: 10, during: 20, after: 10, lastsMs: 8_000, shown: 20 } as const;

/** Consequences of a fault. */
interface Outcome {
  name: string;
  purchases: number;
  /** Seconds: the longest time without any success, the longest that one request took, and until every copy was back. */
  without: number;
  slowest: number;
  whole: number;
  findings: string[];
}

interface Scene {
  cluster: Cluster;
  receiver: Receiver;
  shop: Shop;
  apiKey: string;
  /** Everything that was acknowledged so far. */
  purchases: Purchase[];
}

/**
 * `npm run chaos -- --cluster [--only nats]`: starts NATS, PostgreSQL, Redis and the apps as a cluster, and loses one
 * node after the other while buyers are at work. Nothing that was acknowledged may be missing or doubled.
 */
export async function cluster(only?: Part): Promise<number> {
  const running = await startCluster(await openTemporaryHome());
  const receiver = await startReceiver();
  try {
    const merchant = await running.merchant('Cluster');
    const shop = await openShop(running.baseUrl, merchant, receiver);
    const scene = { cluster: running, receiver, shop, apiKey: merchant.apiKey, purchases: [] };
    if (!running.network.separate)
      say('  · only root on Linux has network namespaces: nodes are killed, and not cut off');
    const outcomes: Outcome[] = [];
    for (const harm of harms(running)) {
      if (only !== undefined && harm.part !== only) continue;
      const outcome = await step(say, harm.name, () => suffered(harm, scene));
      outcomes.push(outcome);
      for (const finding of outcome.findings.slice(0, limits.shown)) say(`  ✗ ${finding}`);
      if (outcome.findings.length > 0) break;
    }
    say(table(outcomes));
    const findings = outcomes.flatMap(outcome => outcome.findings);
    const said = `after ${outcomes.length} faults and ${scene.purchases.length} purchases`;
    say(`${said}, ${findings.length === 0 ? 'nothing is missing or doubled' : `${findings.length} findings`}`);
    return findings.length === 0 ? 0 : 1;
  } finally {
    await receiver.close();
    await running.close();
  }
}

/** Does harm under load, mends it, lets the system come to rest, and looks at everything. */
async function suffered(harm: Harm, scene: Scene): Promise<Outcome> {
  const { cluster: running, shop, apiKey } = scene;
  const load = startLoad(running.baseUrl, apiKey, shop, limits.buyers);
  await load.more(limits.before);
  const name = `${harm.name}${await role(running, harm)}`;
  const began = performance.now();
  await harm.begin();
  await Promise.all([load.more(limits.during), pause(limits.lastsMs)]);
  const mended = performance.now();
  await harm.mend();
  await running.whole();
  const whole = (performance.now() - mended) / 1000;
  await load.more(limits.after);
  const report = await load.stop();
  scene.purchases.push(...report.purchases);
  const gone = running.replicas.filter(({ isRunning }) => !isRunning);
  const findings = [...gone.map(replica => `${replica.name} has ended`), ...(await verdict(scene, report))];
  return { name, purchases: report.purchases.length, ...times(report, began), whole, findings };
}

/** ` (primary)` of a node that is one. */
async function role({ nodes, role: roleOf }: Cluster, { name }: Harm): Promise<string> {
  const node = Object.values(nodes)
    .flat()
    .find(each => name.startsWith(`${each.name} `));
  const found = node === undefined ? '' : await roleOf(node);
  return found === '' ? '' : ` (${found})`;
}

/** Since a fault began, in seconds. */
function times({ answers }: LoadReport, began: number) {
  const since = answers.filter(({ until }) => until > began).sort((one, other) => one.until - other.until);
  const gaps = since.map(({ until }, at) => until - (since[at - 1]?.until ?? began));
  const waits = since.map(({ from, until }) => until - from);
  return { without: Math.max(0, ...gaps) / 1000, slowest: Math.max(0, ...waits) / 1000 };
}

/** Waits for rest, and returns what differs from everything that was acknowledged since the cluster was started. */
async function verdict({ cluster: running, receiver, shop, purchases }: Scene, report: LoadReport): Promise<string[]> {
  const { ask, close } = databases({ services: { postgres: { url: await running.databaseUrl() } } });
  const all = { ...report, purchases };
  try {
    const findings = [...report.unexpected, ...(await settled(ask, allDelivered))];
    return [...findings, ...(await audit(ask, shop, all)), ...heard(receiver.deliveries, all)];
  } finally {
    await close();
  }
}

function table(outcomes: readonly Outcome[]): string {
  const head = ['fault', 'purchases', 'no success for', 'slowest request', 'all copies back after', 'lost or doubled'];
  const seconds = (value: number) => `${value.toFixed(1)} s`;
  const rows = outcomes.map(({ name, purchases, without, slowest, whole, findings }) => [
    name,
    String(purchases),
    seconds(without),
    seconds(slowest),
    seconds(whole),
    String(findings.length),
  ]);
  const widths = head.map((word, at) => Math.max(word.length, ...rows.map(row => row[at]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row.map((word, at) => (at === 0 ? word.padEnd(widths[0] ?? 0) : word.padStart(widths[at] ?? 0))).join('  ');
  return [head, ...rows].map(row => `  ${line(row)}`).join('\n');
}

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms));
