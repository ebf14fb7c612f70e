import { appServer, apps } from '../../local/apps.js';
import type { Home } from '../../local/home.js';
import { isAlive, type ProcessIdentity, signal } from '../../local/identity.js';
import { choosePorts } from '../../local/ports.js';
import { endsWithin, type Server, startServer } from '../../local/processes.js';
import type { App, Settings } from '../../local/settings.js';
import type { Balancer } from '../../upgrade/balancer.js';
import { isOk, type Member } from './node.js';

const limits = { healthEveryMs: 250, killMs: 5_000 } as const;

/** A replica of an app, on this machine's loopback address. */
export class Replica implements Member {
  private identity: ProcessIdentity | undefined;

  constructor(
    private readonly home: Home,
    private readonly server: Server,
    /** Public port of a gateway. */
    readonly port: number,
  ) {}

  get name(): string {
    return this.server.name;
  }

  get isRunning(): boolean {
    return this.identity !== undefined && isAlive(this.identity);
  }

  isReady(): Promise<boolean> {
    return this.server.isReady();
  }

  async start(): Promise<void> {
    this.identity = (await startServer(this.home, this.server)).identity;
  }

  async kill(): Promise<void> {
    if (this.identity === undefined) return;
    signal(this.identity, 'SIGKILL');
    await endsWithin(this.identity, limits.killMs);
  }

  /** Stops it where it is. Its connections stay, and nothing answers on them. */
  freeze(): void {
    if (this.identity !== undefined) signal(this.identity, 'SIGSTOP');
  }

  thaw(): void {
    if (this.identity !== undefined) signal(this.identity, 'SIGCONT');
  }
}

/** Two replicas of each app, not started yet. Clients reach the gateways at `baseUrl`. */
export async function twoOfEach(home: Home, settings: Settings, baseUrl: string): Promise<Replica[]> {
  const all = apps.flatMap(app => [1, 2].map(at => ({ app, name: `${app}-${at}` })));
  const ports = await choosePorts(
    all.flatMap(({ name }) => [name, `${name} public`]),
    {},
  );
  return all.map(({ app, name }) => {
    const [ops, port] = [ports[name] ?? 0, ports[`${name} public`] ?? 0];
    const own: Partial<Record<App | 'gatewayOps', number>> =
      app === 'gateway' ? { gateway: port, gatewayOps: ops } : { [app]: ops };
    const env = { BASE_URL: baseUrl, PORTAL_BASE: `${baseUrl}/portal` };
    const ofIt = { ...settings, ports: { ...settings.ports, ...own } };
    return new Replica(home, { ...appServer(home, ofIt, app, env), name }, port);
  });
}

/** Lets new connections go to the gateways that are alive, as a balancer does that asks them; returns its end. */
export function balanced(balancer: Balancer, gateways: readonly Replica[]): () => void {
  const look = async () => {
    const alive = await Promise.all(gateways.map(({ port }) => isOk(`http://127.0.0.1:${port}/livez`)));
    const ports = gateways.filter((_, at) => alive[at]).map(({ port }) => port);
    if (ports.length > 0) balancer.serve(...ports);
  };
  const timer = setInterval(() => void look(), limits.healthEveryMs);
  return () => clearInterval(timer);
}
