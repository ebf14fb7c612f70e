import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { allDelivered, databases, settled } from '../journeys/oracle.js';
import { type Receiver, startReceiver } from '../journeys/receiver.js';
import { openShop } from '../journeys/shop.js';
import { Failure } from '../local/failure.js';
import { say } from '../local/progress.js';
import { type TemporaryStack, temporaryStack } from '../local/temporary.js';
import { run as runTests } from '../suite/test.js';
import { attack } from './attack.js';
import { parts } from './cluster/harm.js';
import { cluster } from './cluster/run.js';
import { faults, inTurn, random } from './faults.js';
import { audit, heard, type Load, startLoad } from './load.js';
import { restore } from './restore.js';

/** Short leases, so that work of a killed process is redelivered soon; no rate limit. */
const usual = {
  RATE_PER_SECOND: '100000',
  RATE_BURST: '100000',
  EVENT_ACK_SECONDS: '3',
  WEBHOOK_LEASE_SECONDS: '2',
} as const;
/** Tests of `npm test` whose random cases are many more here. */
const longTests = [
  'tools/journeys/test/contract',
  'apps/billing/test/subscriptions/random/random',
  'apps/billing/test/subscriptions/courses',
  'apps/billing/test/subscriptions/renewal/year',
  'apps/billing/test/subscriptions/usage/streams',
  'tools/chaos/test/kills',
  'tools/chaos/test/year-kills',
  'tools/journeys/test/lives',
  'apps/billing/test/invoices/model',
  'apps/billing/test/invoices/races',
  'apps/billing/test/collection/callback-races',
  'apps/billing/test/pricing/price.test',
];
/** How long a run of faults takes unless told otherwise, and each flood of an attack. */
const chaosSeconds = 120;
const attackSeconds = 60;
const limits = { buyers: 6, purchasesBetween: 20, shown: 20 } as const;

/**
 * `npm run chaos [-- --seconds N --seed S --no-tests]`: the generated requests and lives of subscriptions of `npm test`,
 * but ten times as many of them and more; then one fault after the other on a stack of its own while buyers are at work, and
 * nothing may be missing, doubled or half done. The seed decides the requests and the order of the faults. `-- --attack
 * [--seconds N]` floods a stack instead, `-- --restore` rehearses backups, `-- --cluster [--only nats]` loses the nodes of
 * a cluster.
 */
export async function run(args: readonly string[]): Promise<number> {
  const wanted = options(args);
  if (wanted.attack) return attack(wanted.seconds ?? attackSeconds);
  if (wanted.restore || wanted.cluster) {
    Object.assign(process.env, usual);
    return wanted.restore ? restore() : cluster(wanted.only);
  }
  const { seconds = chaosSeconds, tests, seed } = wanted;
  const same = `--seconds ${seconds} --seed ${seed}${tests ? '' : ' --no-tests'}`;
  say(`chaos for ${seconds} s, seed ${seed}: "npm run chaos -- ${same}" does the same again`);
  process.env.TEST_SIZE = 'many';
  if (tests && (await runTests([...longTests, '--seed', String(seed)])) !== 0) return 1;
  Object.assign(process.env, usual);
  const stack = await temporaryStack(say);
  const receiver = await startReceiver();
  try {
    const findings = await rage(stack, receiver, seconds, random(seed));
    for (const finding of findings.slice(0, limits.shown)) say(`  ✗ ${finding}`);
    say(
      findings.length === 0 ? 'nothing is missing, doubled or half done' : `${findings.length} findings, seed ${seed}`,
    );
    return findings.length === 0 ? 0 : 1;
  } finally {
    await receiver.close();
    await stack.close();
  }
}

/** Does harm for a while, lets the system come to rest, and returns what is wrong. */
async function rage(stack: TemporaryStack, receiver: Receiver, seconds: number, next: () => number): Promise<string[]> {
  const { baseUrl } = stack.facts();
  const merchant = await stack.merchant('Chaos');
  const shop = await openShop(baseUrl, merchant, receiver);
  const { ask, close } = databases(stack.facts());
  const load = startLoad(baseUrl, merchant.apiKey, shop, limits.buyers);
  const injected = await harm(stack, load, seconds, next);
  const report = await load.stop();
  const open = await settled(ask, allDelivered);
  const findings = [...report.unexpected, ...(await audit(ask, shop, report)), ...heard(receiver.deliveries, report)];
  findings.push(...open);
  await close();

  for (const [name, count] of injected) say(`  ${String(count).padStart(4)} × ${name}`);
  const times = (counts: object) => Object.entries(counts).map(([what, count]) => `${what} ${count}`);
  say(
    `${report.purchases.length} purchases, ${receiver.deliveries.length} webhooks; asked again after: ${times(report.refused).join(', ') || 'nothing'}`,
  );
  if (injected.size === 0) findings.push('no fault was injected: this run shows nothing');
  if (report.purchases.length === 0) findings.push('nobody bought anything: this run shows nothing');
  return findings;
}

/** Returns how often each fault was really injected. Between two of them the system is to work again. */
async function harm(stack: TemporaryStack, load: Load, seconds: number, next: () => number) {
  const injected = new Map<string, number>();
  const end = Date.now() + seconds * 1000;
  for (const name of inTurn(next)) {
    await load.more(limits.purchasesBetween);
    if (Date.now() > end || load.report.unexpected.length > 0) return injected;
    say(`  · ${name}`);
    if (await faults[name]?.(stack)) injected.set(name, (injected.get(name) ?? 0) + 1);
  }
  return injected;
}

function options(args: readonly string[]) {
  const usage =
    'npm run chaos takes nothing, or -- --seconds N --seed S with whole numbers, --no-tests for the faults alone, or -- --attack --seconds N, or -- --restore, or -- --cluster --only ' +
    `${parts.join('|')}.`;
  const wanted = {
    attack: { type: 'boolean', default: false },
    restore: { type: 'boolean', default: false },
    cluster: { type: 'boolean', default: false },
    only: { type: 'string' },
    seconds: { type: 'string' },
    tests: { type: 'boolean', default: true },
    seed: { type: 'string', default: String(randomInt(1e6)) },
  } as const;
  try {
    const { values } = parseArgs({ args: [...args], options: wanted, allowNegative: true });
    const seconds = values.seconds === undefined ? undefined : Number(values.seconds);
    const seed = Number(values.seed);
    const isWhole = (number: number) => Number.isSafeInteger(number) && number >= 0;
    if (![seconds ?? 1, seed].every(isWhole) || seconds === 0) throw new Error(usage);
    const only = parts.find(part => part === values.only);
    if (values.only !== undefined && only === undefined) throw new Error(usage);
    return {
      attack: values.attack,
      restore: values.restore,
      cluster: values.cluster,
      only,
      seconds,
      tests: values.tests,
      seed,
    };
  } catch {
    throw new Failure(usage, 64);
  }
}
