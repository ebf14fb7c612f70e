import { describe, expect, it } from '@jest/globals';
import { patient } from '@recur/platform';
import { config as billing } from '../../../apps/billing/src/config.js';
import { config as catalog } from '../../../apps/catalog/src/config.js';
import { gatewayConfig as gateway } from '../../../apps/gateway/src/config.js';
import { gatewayLimits } from '../../../apps/gateway/src/limits.js';
import { config as identity } from '../../../apps/identity/src/config.js';
import { config as notification } from '../../../apps/notification/src/config.js';
import { variants } from '../../charts/rendering.js';
import { only, unless } from '../deployment.js';
import { appOf, componentOf, type Manifest, manifestsIn, read, type Variable, valuesOf } from './manifests.js';

const schemas = { billing, catalog, gateway, identity, notification };
const apps = Object.keys(schemas) as (keyof typeof schemas)[];
const services = apps.filter(app => app !== 'gateway');
const texts = Object.fromEntries(variants.map(variant => [variant, read(`rendered/${variant}.yaml`)]));

/** Settings that the image decides, and those for tests and local stacks. */
const notSet = [
  'HOST',
  'PORT',
  'OPS_PORT',
  'CRASH_AT',
  'DEADLINE_FACTOR',
  'MAIL_FOLDER',
  'STRIPE_URL',
  ...['RATES', 'VIES', 'OAUTH', 'WEBHOOK'].map(name => `${name}_ALLOW_LOOPBACK`),
];
/** The longest that each app takes to end after SIGTERM, as deploy.test.ts has it. */
const drainSeconds = (app: string) =>
  ({ gateway: gatewayLimits.drainMs / 1000 + 5, notification: 35 })[app] ??
  gatewayLimits.deadlineMs / patient(1_000) + 5;
/** Connections of a replica beside its pool: see READ_POOL_SIZE of the platform. */
const READ_POOL = 4;

const secretValues: Record<string, string> = {
  NATS_URL: 'nats://app:secret@nats:4222',
  DATABASE_URL: 'postgres://app:secret@postgres:5432/recur',
  DATABASE_OWNER_URL: 'postgres://owner:secret@postgres:5432/recur',
  NATS_MIGRATOR_URL: 'nats://migrator:secret@nats:4222',
  SECRET_KEYS: `k1:${'A'.repeat(43)}=`,
  CALLER_KEY: `${'A'.repeat(43)}=`,
  CALLER_KEYS: services.map(service => `${service}:${'A'.repeat(43)}=`).join(','),
  REDIS_URL: 'redis://:secret@redis:6379',
  SMTP_URL: 'smtp://user:secret@mail.example.com:587',
};

const of = (kind: string, all: readonly Manifest[]) => all.filter(manifest => manifest.kind === kind);
const workloads = (all: readonly Manifest[]) => [...of('Deployment', all), ...of('Job', all)];
const settingOf = ({ value, valueFrom }: Variable) => value ?? secretValues[valueFrom?.secretKeyRef.key ?? ''] ?? '';
const variablesOf = (manifest: Manifest) => manifest.spec.template.spec.containers[0]?.env ?? [];

/** Largest number of replicas of a Deployment. */
function most(deployment: Manifest, all: readonly Manifest[]): number {
  const scaled = [...of('HorizontalPodAutoscaler', all), ...of('ScaledObject', all)].find(
    ({ spec }) => spec.scaleTargetRef?.name === deployment.metadata.name,
  )?.spec;
  return scaled?.maxReplicas ?? scaled?.maxReplicaCount ?? deployment.spec.replicas ?? Number.NaN;
}

/** A policy says what is wrong with the manifests of a variant; each of `planted` is a mistake that it must catch. */
interface Policy {
  find(all: Manifest[], variant: string): string[];
  planted: [from: string | RegExp, to: string][];
}

const policies: Record<string, Policy> = {
  'a container is nobody special: no root, no capability, a root file system that it cannot write': {
    find: all =>
      workloads(all).flatMap(({ metadata: { name }, spec: { template } }) => {
        const { securityContext: pod, containers, automountServiceAccountToken, enableServiceLinks } = template.spec;
        return [
          ...unless(pod?.runAsNonRoot && (pod.runAsUser ?? 0) > 0, `${name} runs as root`),
          ...unless(pod?.seccompProfile?.type === 'RuntimeDefault', `${name} has no seccomp profile`),
          ...unless(automountServiceAccountToken === false, `${name} can call the Kubernetes API`),
          ...unless(enableServiceLinks === false, `${name} gets variables named after Services`),
          ...containers.flatMap(({ securityContext: own }) => [
            ...unless(own?.allowPrivilegeEscalation === false, `${name} may gain privileges`),
            ...unless(own?.readOnlyRootFilesystem, `${name} writes to its root file system`),
            ...unless(own?.capabilities?.drop?.includes('ALL'), `${name} has capabilities`),
          ]),
        ];
      }),
    planted: [
      ['runAsNonRoot: true', 'runAsNonRoot: false'],
      ['runAsUser: 1000', 'runAsUser: 0'],
      ['readOnlyRootFilesystem: true', 'readOnlyRootFilesystem: false'],
      ['drop: [ALL]', 'drop: [NET_RAW]'],
      ['allowPrivilegeEscalation: false', 'allowPrivilegeEscalation: true'],
      ['type: RuntimeDefault', 'type: Unconfined'],
      ['enableServiceLinks: false', 'enableServiceLinks: true'],
      ['      automountServiceAccountToken: false', '      automountServiceAccountToken: true'],
    ],
  },
  'an image has a tag that is not latest, and a container a memory limit that it requests': {
    find: all =>
      workloads(all).flatMap(({ metadata: { name }, spec: { template } }) =>
        template.spec.containers.flatMap(({ image, resources }) => [
          ...unless(
            /^[^:@]+(:\d+\/[^:@]+)?:[\w][\w.-]*$/.test(image) && !image.endsWith(':latest'),
            `${name}: ${image}`,
          ),
          ...unless(resources?.requests?.cpu !== undefined, `${name} requests no processor`),
          ...unless(
            resources?.limits?.memory !== undefined && resources.limits.memory === resources.requests?.memory,
            `${name} may take more memory than it requests`,
          ),
        ]),
      ),
    planted: [
      [/image: (\S+):0\.1\.0/, 'image: $1:latest'],
      [/image: (\S+):0\.1\.0/, 'image: $1'],
      [/limits: \{ memory: 384Mi \}/, 'limits: { memory: 512Mi }'],
      [/requests: \{ cpu: 100m, memory: 384Mi \}/, 'requests: { memory: 384Mi }'],
    ],
  },
  'all replicas at their most, one more during a rollout, and the migrate Jobs fit into max_connections': {
    find(all, variant) {
      const { maxConnections, reserved } = valuesOf(variant).database as { maxConnections: number; reserved: number };
      const taken = of('Deployment', all)
        .filter(manifest => appOf(manifest) !== 'gateway')
        .map(manifest => {
          const pool = Number(variablesOf(manifest).find(({ name }) => name === 'DATABASE_POOL')?.value);
          const surge = manifest.spec.strategy?.rollingUpdate?.maxSurge ?? Number.NaN;
          return (most(manifest, all) + surge) * (pool + READ_POOL) + 1;
        });
      const sum = taken.reduce((total, each) => total + each, 0);
      return unless(sum <= maxConnections - reserved, `${sum} connections of ${maxConnections - reserved}`);
    },
    planted: [
      [/DATABASE_POOL, value: "\d+"/, 'DATABASE_POOL, value: "100"'],
      [/(maxReplicas|maxReplicaCount|\n {2}replicas): \d+/g, '$1: 20'],
      ['maxSurge: 1', 'maxSurge: 25%'],
    ],
  },
  'an app has the time to drain, a rollout takes none away, and an eviction one at a time': {
    find: all => [
      ...of('Deployment', all).flatMap(manifest => {
        const { strategy, template } = manifest.spec;
        const app = appOf(manifest);
        const sleep = template.spec.containers[0]?.lifecycle?.preStop.sleep.seconds ?? 0;
        const grace = template.spec.terminationGracePeriodSeconds ?? 30;
        return [
          ...unless(grace > sleep + drainSeconds(app), `${app} is killed while it drains`),
          ...unless(app !== 'gateway' || sleep > 0, 'the gateway stops while it still gets connections'),
          ...unless(strategy?.rollingUpdate?.maxUnavailable === 0, `${app} is fewer during a rollout`),
        ];
      }),
      ...apps.flatMap(app => {
        const budget = of('PodDisruptionBudget', all).find(manifest => componentOf(manifest) === app);
        return unless(budget?.spec.maxUnavailable === 1, `${app} has no disruption budget`);
      }),
    ],
    planted: [
      ['terminationGracePeriodSeconds: 40', 'terminationGracePeriodSeconds: 35'],
      ['preStop: { sleep: { seconds: 5 } }', 'preStop: { sleep: { seconds: 0 } }'],
      ['maxUnavailable: 0', 'maxUnavailable: 1'],
      ['kind: PodDisruptionBudget', 'kind: PodDisruptionBudgets'],
    ],
  },
  'probes ask the ops port: whether an app lives without its dependencies, whether it is ready with them': {
    find: all =>
      of('Deployment', all).flatMap(manifest => {
        const [{ startupProbe, livenessProbe, readinessProbe, ports } = { ports: [] }] =
          manifest.spec.template.spec.containers;
        const asks = (probe: typeof startupProbe, page: string) =>
          probe?.httpGet?.path === page && probe.httpGet.port === 'ops';
        const opsPort = ports?.find(({ name }) => name === 'ops')?.containerPort;
        return [
          ...unless(asks(startupProbe, '/livez'), `${appOf(manifest)}: startup`),
          ...unless(asks(livenessProbe, '/livez'), `${appOf(manifest)}: liveness`),
          ...unless(asks(readinessProbe, '/readyz'), `${appOf(manifest)}: readiness`),
          ...unless(opsPort === gateway.shape.OPS_PORT.parse(undefined), `${appOf(manifest)}: ${opsPort}`),
        ];
      }),
    planted: [
      ['readinessProbe: { httpGet: { path: /readyz', 'readinessProbe: { httpGet: { path: /livez'],
      ['livenessProbe: { httpGet: { path: /livez', 'livenessProbe: { httpGet: { path: /readyz'],
      ['containerPort: 3001', 'containerPort: 3002'],
    ],
  },
  'each app is there, a service with a migrate Job that runs first, and the owner of a schema is for that Job alone': {
    find: all => [
      ...only([...apps], of('Deployment', all).map(appOf)).map(app => `there is no ${app}`),
      ...only([...services], of('Job', all).map(appOf)).map(app => `${app} is not migrated`),
      ...of('Job', all).flatMap(job => {
        const hook = job.metadata.annotations?.['helm.sh/hook'];
        return [
          ...unless(hook === 'pre-install,pre-upgrade', `${job.metadata.name} runs at another time`),
          ...unless(job.spec.template.spec.containers[0]?.args?.join() === 'migrate', `${job.metadata.name} serves`),
        ];
      }),
      ...workloads(all).flatMap(manifest => {
        const names = variablesOf(manifest).map(({ name }) => name);
        return ['DATABASE_OWNER_URL', 'NATS_MIGRATOR_URL'].flatMap(name =>
          unless(names.includes(name) === (manifest.kind === 'Job'), `${manifest.metadata.name}: who has ${name}`),
        );
      }),
    ],
    planted: [
      ['helm.sh/hook: pre-install,pre-upgrade', 'helm.sh/hook: post-upgrade'],
      ['args: [migrate]', 'args: [resume]'],
      [/- name: DATABASE_OWNER_URL/, '- name: DATABASE_OWNER'],
      [/- name: NATS_MIGRATOR_URL/, '- name: NATS_OWNER_URL'],
      [/image: (\S+)recur-catalog:/g, 'image: $1recur-catalogue:'],
      [/- name: DATABASE_URL\n/, '- name: DATABASE_OWNER_URL\n'],
    ],
  },
  'what an app is given is in its schema, and is enough; every other setting can be given by values': {
    find: all =>
      workloads(all).flatMap(manifest => {
        const app = appOf(manifest) as keyof typeof schemas;
        if (!(app in schemas)) return [`nobody knows ${app}`];
        const given = variablesOf(manifest);
        const names = given.map(({ name }) => name);
        const settings = Object.keys(schemas[app].shape);
        const allowed = Object.keys(
          JSON.parse(read('recur/values.schema.json')).properties.apps.properties[app].properties.env.properties,
        );
        const byChart = [
          'OTEL_EXPORTER_OTLP_ENDPOINT',
          'OTEL_TRACES_SAMPLER_ARG',
          'SMTP_URL',
          'DATABASE_OWNER_URL',
          'NATS_MIGRATOR_URL',
        ];
        const { error } = schemas[app].safeParse(Object.fromEntries(given.map(each => [each.name, settingOf(each)])));
        const open = given.filter(({ name, value }) => value !== undefined && name in secretValues);
        return [
          ...only(names, settings).map(name => `${app} is given ${name}, and does not know it`),
          ...only(settings, [...names, ...allowed, ...byChart, ...notSet]).map(
            name => `${name} of ${app} cannot be set`,
          ),
          ...only(allowed, settings).map(name => `values take ${name} for ${app}, which does not know it`),
          ...allowed.filter(name => notSet.includes(name)).map(name => `${name} is for tests`),
          ...unless(new Set(names).size === names.length, `${app} is given a setting twice: ${names}`),
          ...(error?.issues ?? []).map(issue => `${app}: ${issue.path.join('.')} ${issue.message}`),
          ...open.map(({ name }) => `${name} of ${app} is not from a Secret`),
        ];
      }),
    planted: [
      ['name: LOG_LEVEL, value: "info"', 'name: LOG_LEVEL, value: "fatal"'],
      ['name: LOG_LEVEL, value: "info"', 'name: LOG_LEVLE, value: "info"'],
      [/BASE_URL, value: "[^"]*"/, 'BASE_URL, value: "example"'],
      [/- name: SECRET_KEYS\n.*\n.*\n/, '- { name: SECRET_KEYS, value: "k1:AAAA" }\n'],
      [/- \{ name: DATABASE_POOL, value: "\d+" \}/, '- { name: DATABASE_POOL, value: "2" }'],
    ],
  },
  'a pod reaches what its app needs, and the internet alone if it is to; never a private address by that': {
    find(all, variant) {
      const values = valuesOf(variant);
      const wanted = values.apps as Record<string, { internet: boolean }>;
      const { sentinelPort = 0 } = (values.redis ?? {}) as { sentinelPort?: number };
      const redis = [6379, ...(sentinelPort > 0 ? [sentinelPort] : [])];
      const everything = of('NetworkPolicy', all).find(({ metadata }) => metadata.name === 'recur');
      const isDenied =
        everything?.spec.policyTypes.join() === 'Ingress,Egress' && everything.spec.ingress === undefined;
      return [
        ...unless(isDenied, 'nothing is denied'),
        ...apps.flatMap(app => {
          const { ingress = [], egress = [] } =
            of('NetworkPolicy', all).find(one => one.metadata.name === `recur-${app}`)?.spec ?? {};
          const ports = (rules: { ports?: { port: string | number }[] }[]) =>
            rules.flatMap(rule => rule.ports?.map(({ port }) => port) ?? []);
          const stores = { gateway: [4222], notification: [4222, 5432, ...redis] }[app as string] ?? [4222, 5432];
          const outside = egress.flatMap(({ to = [] }) => to).filter(({ ipBlock }) => ipBlock?.cidr.endsWith('/0'));
          const spared = outside.every(
            ({ ipBlock }) =>
              only(ipBlock?.cidr === '::/0' ? ['fc00::/7'] : ['10.0.0.0/8', '169.254.0.0/16'], ipBlock?.except ?? [])
                .length === 0,
          );
          return [
            ...only(stores.map(String), ports(egress).map(String)).map(port => `${app} cannot reach ${port}`),
            ...only(ports(egress).map(String), [...stores, 4318].map(String)).map(port => `${app} reaches ${port}`),
            ...unless(ports(ingress).join() === (app === 'gateway' ? 'ops,http' : 'ops'), `${app}: ${ports(ingress)}`),
            ...unless(outside.length === (wanted[app]?.internet ? 2 : 0), `${app} and the internet`),
            ...unless(app !== 'gateway' || outside.length === 0, 'the gateway reaches the internet'),
            ...unless(spared, `${app} reaches private addresses`),
          ];
        }),
      ];
    },
    planted: [
      ['policyTypes: [Ingress, Egress]', 'policyTypes: [Egress]'],
      ['"169.254.0.0/16",', ''],
      ['ports: [{ port: 6379', 'ports: [{ port: 6380'],
      ['ports: [{ port: ops', 'ports: [{ port: http'],
      ['cidr: 0.0.0.0/0', 'cidr: 8.0.0.0/8'],
    ],
  },
};

describe.each(variants)('the manifests of %s', variant => {
  const text = texts[variant] ?? '';
  it.each(Object.entries(policies))('%s', (_, { find, planted }) => {
    expect(find(manifestsIn(text), variant)).toEqual([]);
    const unnoticed = planted.filter(([from, to]) => {
      const wrong = text.replace(from, to);
      return wrong !== text && find(manifestsIn(wrong), variant).length === 0;
    });
    expect(unnoticed).toEqual([]);
  });
});

it('plants each violation in at least one of the variants', () => {
  const planted = Object.values(policies).flatMap(policy => policy.planted);
  const unplanted = planted.filter(([from, to]) => Object.values(texts).every(text => text.replace(from, to) === text));
  expect(unplanted).toEqual([]);
});
