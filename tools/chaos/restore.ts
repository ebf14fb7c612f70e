import { allDelivered, databases, type Places, settled } from '../journeys/oracle.js';
import { type Receiver, startReceiver } from '../journeys/receiver.js';
import { openShop, type Shop } from '../journeys/shop.js';
import { say } from '../local/progress.js';
import { type Merchant, services } from '../local/settings.js';
import { type TemporaryStack, temporaryStack } from '../local/temporary.js';
import { audit, heard, type LoadReport, startLoad } from './load.js';
import { Backups, type RecoveredServer } from './recovery.js';

const limits = { buyers: 6, purchases: 60, shown: 20 } as const;

/** Parts of a rehearsal. */
interface Scene {
  stack: TemporaryStack;
  receiver: Receiver;
  backups: Backups;
  merchant: Merchant;
  shop: Shop;
  /** A server recovered to a point, or to the present; it is ended with the scene. */
  recover(point?: string): Promise<RecoveredServer>;
}

/**
 * `npm run chaos -- --restore`: rehearses, under load, what docs/operations.md says about backups. Nothing that was
 * acknowledged may be missing, doubled or told twice. Returns 1 where something is.
 */
export async function restore(): Promise<number> {
  let count = 0;
  for (const rehearse of [oneByOne, toOnePoint]) {
    const findings = await onScene(rehearse);
    for (const finding of findings.slice(0, limits.shown)) say(`  ✗ ${finding}`);
    count += findings.length;
  }
  say(count === 0 ? 'nothing is missing, doubled or told twice' : `${count} findings`);
  return count === 0 ? 0 : 1;
}

/** Each service alone is given a database that was recovered up to the present, while the others go on. */
async function oneByOne({ stack, receiver, backups, merchant, shop, recover }: Scene): Promise<string[]> {
  say('each service alone');
  const load = startLoad(stack.facts().baseUrl, merchant.apiKey, shop, limits.buyers);
  await load.more(limits.purchases);
  await backups.takeBase();
  const places: Places = {};
  for (const service of services) {
    await load.more(limits.purchases);
    const began = Date.now();
    await stack.stop(service);
    const server = await recover();
    places[service] = server.url('postgres', `recur_${service}`);
    await stack.start(service, { DATABASE_URL: server.url(`${service}_app`, `recur_${service}`) });
    say(`  · ${service} restored up to the present, away for ${((Date.now() - began) / 1000).toFixed(1)} s`);
  }
  await load.more(limits.purchases);
  return verdict(stack, receiver, shop, await load.stop(), places);
}

/** All services go back to one point in time, with new streams; what came after that point is lost, and nothing else. */
async function toOnePoint({ stack, receiver, backups, merchant, shop, recover }: Scene): Promise<string[]> {
  say('all services to one point in time');
  const { baseUrl } = stack.facts();
  const before = startLoad(baseUrl, merchant.apiKey, shop, limits.buyers);
  await before.more(limits.purchases);
  await backups.takeBase();
  await before.more(limits.purchases);
  const report = await before.stop();
  const findings = await verdict(stack, receiver, shop, report);
  await backups.mark('before the mistake');
  const told = receiver.deliveries.length;

  const lost = startLoad(baseUrl, merchant.apiKey, shop, limits.buyers);
  await lost.more(limits.purchases);
  const mistake = await lost.stop();
  for (const app of ['gateway', ...services] as const) await stack.stop(app);
  const server = await recover('before the mistake');
  await stack.wipeJetStream();
  const places: Places = {};
  for (const service of services) {
    places[service] = server.url('postgres', `recur_${service}`);
    await stack.start(service, { DATABASE_URL: server.url(`${service}_app`, `recur_${service}`) });
  }
  await stack.start('gateway');
  say(`  · back to the point: ${report.purchases.length} purchases stay, ${mistake.purchases.length} are lost`);
  findings.push(...(await verdict(stack, receiver, shop, report, places)));
  const again = receiver.deliveries.slice(told).filter(({ body }) => ofPurchases(body, report));
  findings.push(...again.map(({ headers }) => `${headers['webhook-id']} was told again after the restore`));

  const after = startLoad(baseUrl, merchant.apiKey, shop, limits.buyers);
  await after.more(limits.purchases);
  const { purchases, unexpected } = await after.stop();
  const whole = { ...report, purchases: [...report.purchases, ...purchases], unexpected };
  return [...findings, ...(await verdict(stack, receiver, shop, whole, places))];
}

/** True for a webhook about one of these purchases. */
const ofPurchases = (body: string, { purchases }: LoadReport) =>
  purchases.some(({ invoiceId, paymentId }) => body.includes(invoiceId) || body.includes(paymentId));

/** Waits for rest, and returns what differs from what was acknowledged. */
async function verdict(
  stack: TemporaryStack,
  receiver: Receiver,
  shop: Shop,
  report: LoadReport,
  places: Places = {},
): Promise<string[]> {
  const { ask, close } = databases(stack.facts(), places);
  const findings = [...report.unexpected, ...(await settled(ask, allDelivered))];
  findings.push(...(await audit(ask, shop, report)), ...heard(receiver.deliveries, report));
  await close();
  const outcome = findings.length === 0 ? 'all there, once' : `${findings.length} findings`;
  say(`  · ${report.purchases.length} purchases, ${receiver.deliveries.length} webhooks: ${outcome}`);
  return findings;
}

async function onScene(run: (scene: Scene) => Promise<string[]>): Promise<string[]> {
  const stack = await temporaryStack(say);
  const receiver = await startReceiver();
  const backups = await Backups.start(stack);
  const servers: RecoveredServer[] = [];
  const recover = async (point?: string) => {
    const server = await backups.recover(point);
    servers.push(server);
    return server;
  };
  try {
    const merchant = await stack.merchant('Restore');
    const shop = await openShop(stack.facts().baseUrl, merchant, receiver);
    return await run({ stack, receiver, backups, merchant, shop, recover });
  } finally {
    await receiver.close();
    await stack.close();
    for (const server of servers) await server.close();
    backups.close();
  }
}
