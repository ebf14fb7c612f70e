import { parseArgs } from 'node:util';
import { audit, heard, type Load, startLoad } from '../chaos/load.js';
import { allDelivered, databases, settled } from '../journeys/oracle.js';
import { type Receiver, startReceiver } from '../journeys/receiver.js';
import { openShop } from '../journeys/shop.js';
import { apps, migration } from '../local/apps.js';
import { openStack } from '../local/control.js';
import { Failure } from '../local/failure.js';
import type { Home } from '../local/home.js';
import { runToEnd } from '../local/processes.js';
import { say } from '../local/progress.js';
import { readSettings, services } from '../local/settings.js';
import { startStack, stopStack } from '../local/stack.js';
import { openTemporaryHome, removeHome } from '../local/temporary.js';
import { startBalancer } from './balancer.js';
import { Fleet } from './fleet.js';
import { builtCheckout, previousVersion } from './previous.js';

/** Limits of a credential that no buyer reaches. */
const usual = { RATE_PER_SECOND: '100000', RATE_BURST: '100000' } as const;
/** `timeoutMs`: more than the gateway takes, so that a request without an answer is one that was lost. */
const limits = { buyers: 4, timeoutMs: 20_000, settleMs: 600_000, shown: 20 } as const;
/** Purchases that are made in each part of a run. */
const purchases = { before: 30, waiting: 15, together: 40, step: 5 } as const;

/**
 * `npm run upgrade-test [-- --from COMMIT --rounds N --brutal]`: runs a stack of the previous version, migrates its
 * databases while it serves, runs both versions side by side, replaces the old one app by app, and restarts every app
 * in turn, N times. Buyers are at work all the time: no request may fail, and nothing may be missing or doubled.
 * `--brutal` ends replicas by SIGKILL, and must make it fail.
 */
export async function run(args: readonly string[]): Promise<number> {
  const { from, rounds, brutal } = options(args);
  const commit = previousVersion(from);
  const root = await builtCheckout(commit, say);
  say(`from ${commit.slice(0, 12)} to this checkout`);
  Object.assign(process.env, usual);
  const home = await openTemporaryHome();
  const receiver = await startReceiver();
  const old = { ...home, root };
  const interrupted = () => void stopStack(old).then(() => removeHome(home).then(() => process.exit(130)));
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, interrupted);
  try {
    const findings = await upgraded({ old, home, receiver, rounds, brutal });
    for (const finding of findings.slice(0, limits.shown)) say(`  ✗ ${finding}`);
    say(findings.length === 0 ? 'no request failed; nothing is missing or doubled' : `${findings.length} findings`);
    return findings.length === 0 ? 0 : 1;
  } finally {
    await receiver.close();
    await removeHome(home);
  }
}

interface Parts {
  /** The same stack with the code of the previous version. */
  old: Home;
  home: Home;
  receiver: Receiver;
  rounds: number;
  brutal: boolean;
}

/** Runs the upgrade, lets the system come to rest, and returns what is wrong. */
async function upgraded({ old, home, receiver, rounds, brutal }: Parts): Promise<string[]> {
  const facts = await startStack(old, { tell: say, port: 'any' });
  const stack = openStack(old);
  // before the first request: what is under way when rights change may lose its reply
  stack.reloadNats(home);
  const balancer = await startBalancer(Number(new URL(facts.baseUrl).port));
  const { ask, close } = databases(facts);
  const merchant = await stack.merchant('Upgrade');
  const shop = await openShop(balancer.url, merchant, receiver);
  const load = startLoad(balancer.url, merchant.apiKey, shop, limits.buyers, limits.timeoutMs);
  const fleet = new Fleet(stack, balancer, brutal, load.inFlight);
  try {
    await rollOut({ fleet, load, old, home });
    await restartAll(fleet, load, home, rounds);
    const report = await load.stop();
    say(`${report.purchases.length} purchases, ${receiver.deliveries.length} webhooks`);
    say(`${fleet.ended.replicas} replicas ended, with ${fleet.ended.inFlight} requests in flight at those moments`);
    const failed = Object.entries(report.refused).map(([slug, times]) => `${times} requests failed: ${slug}`);
    const unsettled = await settled(ask, allDelivered, limits.settleMs);
    const wrong = [...(await audit(ask, shop, report)), ...heard(receiver.deliveries, report)];
    if (fleet.ended.inFlight === 0) failed.push('no replica had anything to drain');
    return [...failed, ...report.unexpected, ...unsettled, ...wrong];
  } finally {
    await fleet.close();
    await balancer.close();
    await close();
  }
}

interface RollOut extends Pick<Parts, 'old' | 'home'> {
  fleet: Fleet;
  load: Load;
}

/** The way that `helm upgrade` goes: migrate, add a replica of the new version, drain one of the old. */
async function rollOut({ fleet, load, old, home }: RollOut): Promise<void> {
  await load.more(purchases.before);
  say(`  · ${load.report.purchases.length} purchases on the old version`);
  await fleet.leave('notification');
  await load.more(purchases.waiting);
  say('  · events of the old version wait in the streams');
  // the gateways of the previous version do not sign callers
  process.env.UNSIGNED_CALLERS = 'true';
  const migrating = services.map(service => runToEnd(home, migration(home, readSettings(home), service)));
  await Promise.all([...migrating, load.more(purchases.step)]);
  say('  · migrated, while the old version serves');
  // the old version has to start on the new schema too: that is what going back by one version needs
  await fleet.join('notification', old);
  for (const app of apps) await fleet.join(app, home);
  await load.more(purchases.together);
  say(`  · both versions side by side, ${purchases.together} purchases`);
  for (const app of apps) {
    await fleet.leave(app);
    await load.more(purchases.step);
  }
  delete process.env.UNSIGNED_CALLERS;
  say('  · the old version is gone');
}

async function restartAll(fleet: Fleet, load: Load, home: Home, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (const app of apps) {
      await fleet.join(app, home);
      await Promise.all([fleet.leave(app), load.more(purchases.step)]);
    }
  }
  say(`  · every app restarted, ${rounds} times`);
}

function options(args: readonly string[]) {
  const wanted = {
    from: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    brutal: { type: 'boolean', default: false },
  } as const;
  const usage = 'npm run upgrade-test takes nothing, or -- --from <commit> --rounds N --brutal.';
  try {
    const { values } = parseArgs({ args: [...args], options: wanted });
    const rounds = Number(values.rounds);
    if (!Number.isSafeInteger(rounds) || rounds < 0) throw new Error(usage);
    return { from: values.from, rounds, brutal: values.brutal };
  } catch {
    throw new Failure(usage, 64);
  }
}
