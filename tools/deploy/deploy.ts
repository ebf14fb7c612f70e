import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createClient, orThrow } from '@recur/client';
import { Agent } from 'undici';
import { type Variant, variants } from '../charts/rendering.js';
import { startCollector } from '../journeys/collector.js';
import { newUser } from '../journeys/shop.js';
import { apps, callerKeysOf } from '../local/apps.js';
import { Failure, takesNoArguments } from '../local/failure.js';
import type { Home } from '../local/home.js';
import { natsUrl } from '../local/nats.js';
import { say, step } from '../local/progress.js';
import { redisUrl } from '../local/redis.js';
import { type App, databaseUrl, type Merchant, readSettings, type Settings, services } from '../local/settings.js';
import { startDependencies } from '../local/stack.js';
import { openTemporaryHome, removeHome } from '../local/temporary.js';
import { Builder, type Image } from './image.js';
import { type Manifest, manifestsOf, must, Pod, type Secrets } from './pod.js';

/** Requests that are under way when the gateway is told to end. */
const inFlight = 64;

/**
 * `npm run deploy-test`: executes deploy/Dockerfile step by step, without a container engine, and runs what it makes as
 * the rendered chart says: the migrate Jobs, then each Deployment, as an ordinary user on a read-only file system, with
 * the rendered environment; asks its probes, its API and its metrics, and ends it. Its PostgreSQL, NATS and Redis are
 * real ones of this machine. No image is built and no cluster is asked.
 */
export async function run(args: readonly string[]): Promise<number> {
  takesNoArguments('npm run deploy-test', args);
  if (process.getuid?.() !== 0 || !existsSync('/proc/self/ns/mnt')) {
    throw new Failure('npm run deploy-test needs root on Linux: it gives each process mounts of its own.', 69);
  }
  const folder = mkdtempSync(path.join(tmpdir(), 'recur-image-'));
  try {
    const images = await imagesIn(folder);
    for (const variant of variants) await deployed(variant, images);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  say('everything ran as the chart says; an image as such, its registry and a cluster are not tried by this');
  return 0;
}

async function imagesIn(folder: string): Promise<Map<App, Image>> {
  const builder = new Builder(folder);
  const images = new Map<App, Image>();
  for (const app of apps) {
    await step(say, `files of the image of ${app}, by deploy/Dockerfile`, async () => {
      const image = await builder.build(app);
      must(image.user !== 'root' && image.entrypoint[0] === 'node', `the image of ${app} runs as root, or no node`);
      images.set(app, image);
    });
  }
  return images;
}

async function deployed(variant: Variant, images: ReadonlyMap<App, Image>): Promise<void> {
  say(`${variant}.yaml`);
  const home = await openTemporaryHome();
  const collector = await startCollector();
  const pods: Pod[] = [];
  const end = async () => {
    for (const pod of pods) pod.kill();
    await collector.close();
    await removeHome(home);
  };
  const interrupted = () => void end().then(() => process.exit(130));
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, interrupted);
  try {
    const settings = readSettings(home);
    await startDependencies(home, settings, { tell: say });
    const instead = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, RATES_URL: undefined };
    const manifests = manifestsOf(variant);
    const podsOf = (kind: string) =>
      manifests
        .filter(manifest => manifest.kind === kind)
        .map((manifest, at) => new Pod(manifest, images, secretsOf(settings), `127.0.35.${at + 1}`, instead));
    const jobs = podsOf('Job');
    await Promise.all(jobs.map(job => job.toEnd()));
    say(`  · ${jobs.length} migrate Jobs exited with 0`);
    pods.push(...podsOf('Deployment'));
    must(pods.length === apps.length, `there are ${pods.length} Deployments`);
    await started(home, pods);
    await served(pods, manifests);
    await ended(pods, manifests);
  } finally {
    await end();
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.removeListener(name, interrupted);
  }
}

/** The Secrets that docs/operations.md asks for. */
function secretsOf(settings: Settings): Secrets {
  const secrets: Record<string, string> = {
    'recur-gateway/NATS_URL': natsUrl(settings, 'gateway'),
    'recur-gateway/CALLER_KEYS': callerKeysOf(settings),
  };
  for (const service of services) {
    const database = (role: string) => databaseUrl(settings, `${service}_${role}`, `recur_${service}`);
    secrets[`recur-${service}/NATS_URL`] = natsUrl(settings, service);
    secrets[`recur-${service}/DATABASE_URL`] = database('app');
    secrets[`recur-${service}/SECRET_KEYS`] = settings.secretKeys;
    secrets[`recur-${service}/CALLER_KEY`] = settings.callerKeys[service] ?? '';
    secrets[`recur-${service}-owner/DATABASE_OWNER_URL`] = database('owner');
    secrets[`recur-${service}-owner/NATS_MIGRATOR_URL`] = natsUrl(settings, 'migrator');
  }
  return { ...secrets, 'recur-notification/REDIS_URL': redisUrl(settings) };
}

async function started(home: Home, pods: readonly Pod[]): Promise<void> {
  const log = (pod: Pod) => path.join(home.logs, `${pod.name}.log`);
  const times = await Promise.all(pods.map(pod => pod.start(log(pod))));
  say(`  · ${pods.length} apps pass their startup, liveness and readiness probes, after ${seconds(times)}`);
  const refused = pods.filter(pod => /EROFS|EACCES/.test(readFileSync(log(pod), 'utf8')));
  must(refused.length === 0, `${refused.map(({ name }) => name).join(', ')} wanted to write outside /tmp`);
}

/** The API by the Service of the gateway, and metrics where the ServiceMonitor takes them. */
async function served(pods: readonly Pod[], manifests: readonly Manifest[]): Promise<void> {
  const gateway = serviceOf(pods, manifests);
  for (const page of ['/version', '/docs', '/docs/guides/', '/portal/']) {
    const { status } = await fetch(gateway(page));
    must(status === 200, `${page} answered ${status}`);
  }
  const monitored = manifests.filter(({ kind, metadata }) => kind === 'Service' && metadata.labels['recur/ops']);
  const monitor = manifests.find(({ kind }) => kind === 'ServiceMonitor')?.spec.endpoints?.[0];
  for (const service of monitored) {
    const pod = podOf(service, pods, manifests);
    const { port, path: file } = monitor ?? { port: 'ops', path: '/metrics' };
    const target = service.spec.ports?.find(({ name }) => name === port)?.targetPort ?? '';
    const text = await fetch(pod.url(target, file)).then(response => response.text());
    must(/^recur_\w+/m.test(text), `${pod.name} serves no metrics of its own at ${file}`);
  }
  must(monitored.length === apps.length, `metrics of ${monitored.length} apps are taken`);
  const used = pods.map(pod => `${pod.app} ${pod.memory().toFixed(0)}`);
  say(`  · the API, its docs and the portal answer, and metrics of ${monitored.length} apps; MiB: ${used.join(', ')}`);
}

/** Ends the gateway with requests under way, all of which must be answered, and then the services. */
async function ended(pods: readonly Pod[], manifests: readonly Manifest[]): Promise<void> {
  const identity = pods.find(({ app }) => app === 'identity');
  const gateway = pods.find(({ app }) => app === 'gateway');
  const create = ['merchant', 'create', '--name', 'Acme', '--email', 'owner@acme.example', '--json'];
  const printed = (await identity?.exec('node', 'dist/main.js', ...create)) ?? '';
  const { apiKey } = JSON.parse(printed.split('\n').find(line => line.includes('"apiKey"')) ?? '{}') as Merchant;
  const baseUrl = serviceOf(pods, manifests)('');
  const clients = Array.from({ length: inFlight }, () => clientOf(baseUrl, apiKey));
  const [userId = 0] = await Promise.all(clients.map(newUser));
  const lines = [{ name: 'Pro', quantity: 1, unitAmountExcludingTax: 4900 }];
  const order = { userId, currency: 'EUR', taxPercentage: 1900, lines };
  let open = inFlight;
  const requests = clients.map(api =>
    api.post('/merchant/invoice/new', order).then(result => {
      orThrow(result);
      open--;
    }),
  );
  await Promise.race(requests);
  const waiting = open;
  const [took] = await Promise.all([gateway?.terminate(), ...requests]);
  must(waiting > 0, 'the gateway had nothing to drain');
  say(`  · the gateway got SIGTERM with ${waiting} requests under way, answered all, and exited with 0`);
  const times = await Promise.all(pods.filter(pod => pod !== gateway).map(pod => pod.terminate()));
  say(`  · every app exited with 0 within its grace period, after ${seconds([took ?? 0, ...times])}`);
}

/**
 * A client with one connection of its own, which an answer has shown to be accepted. One that waits to be accepted is lost
 * with what listened; in a cluster no new one comes any more, once the sleep of preStop is over.
 */
function clientOf(baseUrl: string, credential: string) {
  const dispatcher = new Agent({ connections: 1 });
  const own = (url: string | URL | Request, init?: RequestInit) => fetch(url, Object.assign({ dispatcher }, init));
  return createClient({ baseUrl, credential, attempts: 1, fetch: own });
}

const seconds = (times: readonly number[]) => `${times.map(time => time.toFixed(1)).join(', ')} s`;

/** The pod that a Service selects. */
function podOf(service: Manifest, pods: readonly Pod[], manifests: readonly Manifest[]): Pod {
  const selected = manifests.filter(
    ({ kind, spec }) =>
      kind === 'Deployment' &&
      Object.entries(service.spec.selector).every(([name, value]) => spec.template.metadata.labels[name] === value),
  );
  const pod = pods.find(({ name }) => name === selected[0]?.metadata.name);
  if (pod === undefined || selected.length !== 1) throw new Failure(`${service.metadata.name} selects no single app`);
  return pod;
}

function serviceOf(pods: readonly Pod[], manifests: readonly Manifest[]) {
  const service = manifests.find(({ kind, metadata }) => kind === 'Service' && metadata.name === 'recur-gateway');
  if (service === undefined) throw new Failure('there is no Service recur-gateway');
  const pod = podOf(service, pods, manifests);
  return (page: string) => pod.url(service.spec.ports?.[0]?.targetPort ?? '', page);
}
