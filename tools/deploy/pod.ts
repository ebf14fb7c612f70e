import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { renderedFile, type Variant } from '../charts/rendering.js';
import { Failure } from '../local/failure.js';
import type { App } from '../local/settings.js';
import { type Confined, confined, runConfined } from './container.js';
import type { Image } from './image.js';

interface Probe {
  httpGet: { path: string; port: string };
  periodSeconds: number;
  timeoutSeconds?: number;
  failureThreshold: number;
}
interface Container {
  image: string;
  args?: string[];
  env: {
    name: string;
    value?: string;
    valueFrom?: { secretKeyRef: { name: string; key: string; optional?: boolean } };
  }[];
  ports: { name: string; containerPort: number }[];
  startupProbe: Probe;
  livenessProbe: Probe;
  readinessProbe: Probe;
  lifecycle?: { preStop: { sleep: { seconds: number } } };
  resources: { limits: { memory: string } };
}
const pollMs = 200;

export interface Manifest {
  kind: string;
  metadata: { name: string; labels: Record<string, string> };
  spec: {
    ports?: { name: string; targetPort: string }[];
    selector: Record<string, string> & { matchLabels?: Record<string, string> };
    endpoints?: { port: string; path: string }[];
    template: {
      metadata: { labels: Record<string, string> };
      spec: {
        terminationGracePeriodSeconds: number;
        securityContext: { runAsUser: number };
        containers: Container[];
        volumes: { emptyDir: { sizeLimit: string } }[];
      };
    };
  };
}

export const manifestsOf = (variant: Variant): Manifest[] =>
  parseAllDocuments(readFileSync(renderedFile(variant), 'utf8'))
    .map(document => document.toJS() as Manifest | null)
    .filter(manifest => manifest !== null);

/** Values of Secrets, by `secret/KEY`. */
export type Secrets = Readonly<Record<string, string>>;

export function must(holds: boolean, problem: string): void {
  if (!holds) throw new Failure(problem);
}

/** The pod of a Deployment or a Job: one container, with the environment and the limits of its manifest. */
export class Pod {
  readonly name: string;
  readonly app: App;
  private readonly container: Container;
  private child: ChildProcess | undefined;

  constructor(
    private readonly manifest: Manifest,
    private readonly images: ReadonlyMap<App, Image>,
    private readonly secrets: Secrets,
    /** Stands for the address that a pod has in a cluster. */
    readonly address: string,
    /** Variables that this machine cannot have as they are rendered; undefined takes one away. */
    private readonly instead: Readonly<Record<string, string | undefined>>,
  ) {
    const [container] = manifest.spec.template.spec.containers;
    if (container === undefined) throw new Failure(`${manifest.metadata.name} has no container`);
    this.container = container;
    this.name = manifest.metadata.name;
    this.app = /recur-(\w+):/.exec(container.image)?.[1] as App;
  }

  /** Runs the container of a Job to its end. */
  toEnd = () => runConfined(this.where(), [...this.image.entrypoint, ...(this.container.args ?? [])]);
  /** `kubectl exec`: another process of the same container. */
  exec = (...words: string[]) => runConfined(this.where(), words);

  /** Starts the container, and returns how long its probes took to pass. */
  async start(log: string): Promise<number> {
    const since = performance.now();
    this.child = confined(this.where(), [...this.image.entrypoint, ...(this.container.args ?? [])], openSync(log, 'a'));
    const { startupProbe, livenessProbe, readinessProbe } = this.container;
    for (const probe of [startupProbe, livenessProbe, readinessProbe]) await this.passes(probe, log);
    this.confinement();
    return (performance.now() - since) / 1000;
  }

  /** Where a named port of the container is reached. */
  url(port: string, file: string): string {
    const number = this.container.ports.find(({ name }) => name === port)?.containerPort;
    must(number !== undefined, `${this.name} has no port ${port}`);
    return `http://${this.address}:${number}${file}`;
  }

  /** MiB that the process takes, which must be less than the container may have. */
  memory(): number {
    const used = Number(/^VmRSS:\s+(\d+)/m.exec(this.status())?.[1]) / 1024;
    const limit = Number.parseInt(this.container.resources.limits.memory, 10);
    must(used < limit, `${this.name} takes ${used} MiB, and may have ${limit}`);
    return used;
  }

  /** SIGTERM, as the kubelet sends it after the sleep of preStop. Returns seconds; the rest of the grace must suffice. */
  async terminate(): Promise<number> {
    const { terminationGracePeriodSeconds: grace } = this.manifest.spec.template.spec;
    const left = grace - (this.container.lifecycle?.preStop.sleep.seconds ?? 0);
    const child = this.child;
    if (child === undefined) return 0;
    const since = performance.now();
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    const killed = setTimeout(() => child.kill('SIGKILL'), left * 1000);
    const [code, signal] = await exit;
    clearTimeout(killed);
    must(code === 0, `${this.name} ended with ${code ?? signal}, within ${left} s`);
    return (performance.now() - since) / 1000;
  }

  kill = () => this.child?.kill('SIGKILL');

  private get image(): Image {
    const image = this.images.get(this.app);
    if (image === undefined) throw new Failure(`${this.name} has no image`);
    return image;
  }

  private where(): Confined {
    const { root, cwd, env } = this.image;
    const { securityContext, volumes } = this.manifest.spec.template.spec;
    const tmp = (volumes[0]?.emptyDir.sizeLimit ?? '0').replace('Mi', 'm');
    return { root, cwd, env: { ...env, ...this.variables() }, limits: { uid: securityContext.runAsUser, tmp } };
  }

  private variables(): NodeJS.ProcessEnv {
    const given: NodeJS.ProcessEnv = {};
    for (const { name, value, valueFrom } of this.container.env) {
      const { name: secret, key, optional } = valueFrom?.secretKeyRef ?? { name: '', key: '', optional: false };
      const taken = value ?? this.secrets[`${secret}/${key}`];
      must(taken !== undefined || optional === true, `nobody has made the Secret ${secret} with ${key}`);
      if (taken !== undefined) given[name] = taken;
    }
    for (const [name, value] of Object.entries(this.instead)) if (name in given) given[name] = value;
    return { ...given, HOST: this.address };
  }

  /** Waits as long as the kubelet would until it kills the container; for readiness, which kills nothing, as for a start. */
  private async passes({ httpGet, timeoutSeconds = 1 }: Probe, log: string): Promise<void> {
    const { periodSeconds, failureThreshold } = this.container.startupProbe;
    for (const deadline = Date.now() + periodSeconds * failureThreshold * 1000; ; ) {
      const signal = AbortSignal.timeout(timeoutSeconds * 1000);
      const isWell = ({ ok }: Response) => ok;
      if (await fetch(this.url(httpGet.port, httpGet.path), { signal }).then(isWell, () => false)) return;
      const ended = this.child?.exitCode ?? this.child?.signalCode;
      const shown = () => readFileSync(log, 'utf8').slice(-2_000);
      const waits = ended === null && Date.now() < deadline;
      must(waits, `${this.name} fails at ${httpGet.path} (${ended ?? 'too late'}):\n${shown()}`);
      await new Promise(resolve => setTimeout(resolve, pollMs));
    }
  }

  /** The process is nobody special: what the chart's securityContext asks for. */
  private confinement(): void {
    const status = this.status();
    const { runAsUser } = this.manifest.spec.template.spec.securityContext;
    const is = (pattern: string) =>
      must(new RegExp(`^${pattern}$`, 'm').test(status), `${this.name} is not ${pattern}`);
    is(`Uid:\\t${runAsUser}\\t${runAsUser}\\t${runAsUser}\\t${runAsUser}`);
    for (const set of ['CapPrm', 'CapEff', 'CapBnd']) is(`${set}:\\t0+`);
    is('NoNewPrivs:\\t1');
  }

  private readonly status = () => readFileSync(`/proc/${this.child?.pid}/status`, 'utf8');
}
