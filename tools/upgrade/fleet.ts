import { startReplica, unusedPort } from '../chaos/replica.js';
import { apps } from '../local/apps.js';
import type { Stack } from '../local/control.js';
import type { Home } from '../local/home.js';
import { type App, portOf, readSettings } from '../local/settings.js';
import type { Balancer } from './balancer.js';

interface Member {
  /** Public port of a gateway. */
  port: number;
  /** Asks it to end, and waits until it has. */
  stop(): Promise<unknown>;
  kill(): Promise<unknown>;
}

/** The replicas of every app, and their replacement as a rollout does it: a new one is ready before an old one ends. */
export class Fleet {
  private readonly members = new Map<App, Member[]>();
  /** How many replicas were told to end, and how many requests waited for an answer at those moments. */
  readonly ended = { replicas: 0, inFlight: 0 };

  /** Begins with the apps that the stack runs. */
  constructor(
    stack: Stack,
    private readonly balancer: Balancer,
    /** Ends replicas without letting them drain: what must show as failed requests. */
    private readonly brutal: boolean,
    private readonly inFlight: () => number,
  ) {
    const settings = readSettings(stack.home);
    for (const app of apps) {
      const [stop, kill] = [() => stack.stop(app), () => stack.kill(app)];
      this.members.set(app, [{ port: app === 'gateway' ? portOf(settings, app) : 0, stop, kill }]);
    }
  }

  /** Starts one more replica of an app, with the code of `home`. */
  async join(app: App, home: Home): Promise<void> {
    const port = app === 'gateway' ? await unusedPort() : 0;
    const replica = await startReplica(home, app, port > 0 ? { PORT: String(port) } : {});
    this.of(app).push({ port, ...replica });
    this.route(app);
  }

  /** Ends the oldest replica of an app: no new connection goes to it, and it drains. */
  async leave(app: App): Promise<void> {
    const oldest = this.of(app).shift();
    this.route(app);
    this.ended.replicas++;
    this.ended.inFlight += this.inFlight();
    await (this.brutal ? oldest?.kill() : oldest?.stop());
  }

  async close(): Promise<void> {
    for (const member of [...this.members.values()].flat()) await member.kill();
  }

  private route(app: App): void {
    const ports = this.of(app).map(({ port }) => port);
    if (app === 'gateway' && ports.length > 0) this.balancer.serve(...ports);
  }

  private of(app: App): Member[] {
    return this.members.get(app) ?? [];
  }
}
