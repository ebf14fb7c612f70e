import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { patient } from '@recur/platform';
import { config as billing } from '../../apps/billing/src/config.js';
import { config as catalog } from '../../apps/catalog/src/config.js';
import { gatewayConfig as gateway } from '../../apps/gateway/src/config.js';
import { gatewayLimits } from '../../apps/gateway/src/limits.js';
import { config as identity } from '../../apps/identity/src/config.js';
import { config as notification } from '../../apps/notification/src/config.js';
import { formatted } from '../docs/formatted.js';
import { withSettings } from '../docs/settings.js';
import { checkoutRoot } from '../local/home.js';
import {
  composed,
  exampleOf,
  exists,
  type Files,
  filledIn,
  type Guard,
  only,
  readFiles,
  takenNames,
  unless,
  unnoticed,
} from './deployment.js';

const root = checkoutRoot();
const schemas = { billing, catalog, gateway, identity, notification };
const apps = Object.keys(schemas) as (keyof typeof schemas)[];
const withDatabase = apps.filter(app => 'DATABASE_URL' in schemas[app].shape);
const stores = ['postgres', 'nats', 'redis'];
const files = readFiles();
const port = String(gateway.shape.PORT.parse(undefined));
const opsPort = String(gateway.shape.OPS_PORT.parse(undefined));

/** Settings of the migrate steps alone: who owns the schema, and who makes streams. */
const ownersAlone = ['DATABASE_OWNER_URL', 'NATS_MIGRATOR_URL'];
/** What the containers keep as it is, what is the migrate steps' alone, and what is for tests. */
const notHandedOn = [
  'HOST',
  'PORT',
  'OPS_PORT',
  'CRASH_AT',
  'DEADLINE_FACTOR',
  'MAIL_FOLDER',
  'STRIPE_URL',
  ...ownersAlone,
  ...['RATES', 'VIES', 'OAUTH', 'WEBHOOK'].map(name => `${name}_ALLOW_LOOPBACK`),
];

/** The longest that each app may take to end: clients' last requests, commands, a batch of deliveries (its config). */
const drainSeconds = (app: string) =>
  ({ gateway: gatewayLimits.drainMs / 1000 + 5, notification: 35 })[app] ??
  gatewayLimits.deadlineMs / patient(1_000) + 5;

const compose = (texts: Files) => composed(texts, filledIn(texts));
const guards: Record<string, Guard> = {
  'every app has a service, and one with a database a migrate step that ends before it starts': {
    find(texts) {
      const { services } = compose(texts);
      const migrations = withDatabase.map(app => `${app}-migrate`);
      return [
        ...only([...apps, ...migrations, ...stores], Object.keys(services)).map(name => `there is no ${name}`),
        ...only(Object.keys(services), [...apps, ...migrations, ...stores]).map(name => `nobody knows ${name}`),
        ...apps.flatMap(app => unless(services[app]?.build?.args.APP === app, `${app} is built from another app`)),
        ...withDatabase.flatMap(app => {
          const step = services[`${app}-migrate`];
          const waits = services[app]?.depends_on?.[`${app}-migrate`]?.condition === 'service_completed_successfully';
          return [
            ...unless(waits, `${app} does not wait for its migrate step`),
            ...unless(step?.build?.args.APP === app && step.image === services[app]?.image, `${app}: two images`),
            ...unless(step?.command?.join(' ') === 'migrate' && step.restart === 'no', `${app} does not migrate once`),
          ];
        }),
      ];
    },
    planted: [
      ['compose', 'catalog-migrate: { condition: service_completed_successfully }', ''],
      ['compose', 'args: { APP: billing }', 'args: { APP: catalog }'],
      ['compose', '\n  catalog-migrate:\n', '\n  catalogue-migrate:\n'],
      ['compose', 'command: [migrate]', 'command: [resume]'],
    ],
  },
  'what an app is given is in its schema, and is enough; the owner of a schema is for its migrate step alone': {
    find: texts =>
      [filledIn(texts), filledIn(texts, true)].flatMap(env =>
        Object.entries(composed(texts, env).services).flatMap(([name, { build, environment, variables }]) => {
          const app = apps.find(one => one === build?.args.APP);
          if (app === undefined) return [];
          const settings = Object.keys(schemas[app].shape);
          const unknown = only(variables, settings);
          const kept = only(settings, [...variables, ...notHandedOn]);
          const { error } = schemas[app].safeParse(environment);
          return [
            ...unknown.map(variable => `${name} is given ${variable}, which ${app} does not know`),
            ...kept.map(variable => `${variable} of ${name} cannot be set`),
            ...(error?.issues ?? []).map(issue => `${name}: ${issue.path.join('.')} ${issue.message}`),
            ...ownersAlone.flatMap(variable =>
              unless(variable in environment === name.endsWith('-migrate'), `${name}: who has ${variable}`),
            ),
          ];
        }),
      ),
    planted: [
      ['compose', '  LOG_LEVEL:\n', '  LOG_LEVLE:\n'],
      ['compose', '  RATES_URL:\n', ''],
      ['compose', '  REDIS_URL: redis://:$', '  REDIS: redis://:$'],
      [
        'compose',
        '      DATABASE_OWNER_URL: postgres://billing_owner',
        '      DATABASE_OWNER: postgres://billing_owner',
      ],
      ['compose', '    environment: *billing-env', '    environment: { <<: *billing-env, DATABASE_OWNER_URL: x }'],
      ['compose', '    environment: *billing-env', '    environment: { <<: *billing-env, NATS_MIGRATOR_URL: x }'],
      ['example', '# LOG_LEVEL=info', '# LOG_LEVEL=fatal'],
      ['example', 'RECUR_ENV=sandbox', 'RECUR_ENV=staging'],
    ],
  },
  'env.example has what docker-compose.yml takes from .env, and nothing else': {
    find(texts) {
      const { set, empty, commented } = exampleOf(texts);
      const names = [...Object.keys(set), ...empty, ...Object.keys(commented)];
      return [
        ...only(takenNames(texts), names).map(name => `${name} is not in env.example`),
        ...only(names, takenNames(texts)).map(name => `nothing takes ${name}`),
      ];
    },
    planted: [
      ['example', '# RATE_BURST=2000', '# RATE_BRUST=2000'],
      ['compose', '{PUBLISH_PORT:-', '{PUBLISHED_PORT:-'],
    ],
  },
  'a secret is never made up: it comes from .env, and nothing starts without it': {
    find(texts) {
      const { empty, set } = exampleOf(texts);
      const env = filledIn(texts);
      const { missing } = composed(texts, {});
      const unasked = [...texts.compose.matchAll(/\$\{(\w+)(?!\w)(?!:\?[\w ,./]{20,}\})/g)].map(
        ([, name = '']) => name,
      );
      const made = Object.entries(compose(texts).services).flatMap(([name, { environment }]) =>
        Object.keys(environment)
          // CALLER_KEYS are made of the keys of the services, which is looked at with the users of NATS
          .filter(variable => /PASSWORD|SECRET|KEY|TOKEN$/.test(variable) && variable !== 'CALLER_KEYS')
          .filter(variable => {
            const own = `${name.replace('-migrate', '').toUpperCase()}_${variable}`;
            return environment[variable] !== (env[variable] ?? env[own]);
          })
          .map(variable => `${variable} of ${name} is not the one of .env`),
      );
      return [
        ...empty.filter(name => unasked.includes(name)).map(name => `${name} is not demanded with a sentence`),
        ...only(missing, [...empty, 'BASE_URL']).map(name => `${name} is demanded, and not in env.example`),
        ...only(empty, missing).map(name => `${name} may be missing`),
        ...Object.keys(set)
          .filter(name => /PASSWORD|SECRET|KEY/.test(name))
          .map(name => `${name} has a value in env.example`),
        ...made,
      ];
    },
    planted: [
      ['compose', '{SECRET_KEYS:?', '{SECRET_KEYS:-k1:'],
      ['compose', '{BILLING_OWNER_PASSWORD:?set it in .env, deploy/env.example says how', '{BILLING_OWNER_PASSWORD'],
      ['compose', '{CATALOG_APP_PASSWORD:?set it in .env, deploy/env.example says how', '{CATALOG_APP_PASSWORD:?no'],
      ['compose', 'POSTGRES_PASSWORD: ', 'POSTGRES_PASSWORD: x'],
      ['example', '\nPOSTGRES_PASSWORD=\n', '\nPOSTGRES_PASSWORD=postgres\n'],
    ],
  },
  'the gateway alone is published, as a sandbox for this machine; every port is the one that is listened on': {
    find(texts) {
      const { services } = composed(texts, {});
      const published = Object.entries(services).flatMap(([name, { ports = [] }]) =>
        ports.map(one => `${name} ${one}`),
      );
      return [
        ...only(published, [`gateway 127.0.0.1:3000:${port}`]).map(one => `${one} is published`),
        ...unless(published.length > 0, 'nothing is published'),
        ...apps.flatMap(app => unless(services[app]?.environment.RECUR_ENV === 'sandbox', `${app} is no sandbox`)),
        ...unless(texts.dockerfile.includes(`\nEXPOSE ${port} ${opsPort}\n`), `the image does not expose ${port}`),
        ...unless(texts.healthy.includes(`env.OPS_PORT || ${opsPort}}`), `healthy.mjs does not ask ${opsPort}`),
        ...unless(texts.nats.includes('\nlisten: "0.0.0.0:4222"'), 'NATS does not listen on 4222'),
      ];
    },
    planted: [
      ['compose', 'PUBLISH_ADDRESS:-127.0.0.1', 'PUBLISH_ADDRESS:-0.0.0.0'],
      ['compose', '-3000}:3000', '-3000}:8080'],
      ['compose', 'volumes: [redis:/data]', 'volumes: [redis:/data]\n    ports: ["6379:6379"]'],
      ['compose', 'RECUR_ENV:-sandbox', 'RECUR_ENV:-production'],
      ['dockerfile', 'EXPOSE 3000', 'EXPOSE 8080'],
      ['healthy', 'OPS_PORT || 3001', 'PORT || 3000'],
      ['nats', ':4222"', ':4223"'],
    ],
  },
  'databases, roles and passwords are those of postgres-init.sql': {
    find(texts) {
      const { services } = compose(texts);
      const taken = [...texts.sql.matchAll(/^\\getenv \w+ (\w+)$/gm)].map(([, name = '']) => name);
      return [
        ...only(taken, Object.keys(services.postgres?.environment ?? {})).map(name => `psql is not given ${name}`),
        ...withDatabase.flatMap(app => {
          const { DATABASE_URL, DATABASE_OWNER_URL } = services[`${app}-migrate`]?.environment ?? {};
          const url = (role: string) => `postgres://${app}_${role}:${app}_${role}_password@postgres:5432/recur_${app}`;
          return [
            ...unless(DATABASE_URL === url('app'), `${app} has ${DATABASE_URL}`),
            ...unless(DATABASE_URL === services[app]?.environment.DATABASE_URL, `${app} migrates another database`),
            ...unless(DATABASE_OWNER_URL === url('owner'), `${app} migrates as ${DATABASE_OWNER_URL}`),
            ...unless(
              texts.sql.includes(`\ncreate database recur_${app} owner ${app}_owner;`),
              `no database of ${app}`,
            ),
            ...unless(texts.sql.includes(`\ncreate role ${app}_app login`), `no role of ${app}`),
          ];
        }),
      ];
    },
    planted: [
      ['compose', 'postgres://billing_app:', 'postgres://billing_owner:'],
      ['compose', '@postgres:5432/recur_catalog', '@postgres:5432/recur_identity'],
      [
        'compose',
        'postgres://billing_owner:${BILLING_OWNER_PASSWORD',
        'postgres://billing_owner:${BILLING_APP_PASSWORD',
      ],
      ['compose', '      NOTIFICATION_APP_PASSWORD: $', '      NOTIFICATION_PASSWORD: $'],
      ['sql', 'create database recur_billing ', 'create database billing '],
    ],
  },
  'every app has a user of its own on NATS, whose password NATS is given in quotes': {
    find(texts) {
      const { services } = compose(texts);
      const environment: Record<string, string> = services.nats?.environment ?? {};
      const users = [...texts.natsUsers.matchAll(/user: (\w+), password: \$(\w+)/g)];
      return [
        ...only(
          [...apps, 'migrator', 'operator'],
          users.map(([, user = '']) => user),
        ).map(user => `${user} is no user`),
        ...users.flatMap(([, user = '', variable = '']) =>
          unless(environment[variable] === `"${user}_nats_password"`, `NATS is not given ${variable}`),
        ),
        ...apps.flatMap(app => {
          const url = `nats://${app}:${app}_nats_password@nats:4222`;
          return unless(services[app]?.environment.NATS_URL === url, `${app} is another user of NATS`);
        }),
        ...withDatabase.flatMap(app => {
          const url = 'nats://migrator:migrator_nats_password@nats:4222';
          const { NATS_MIGRATOR_URL } = services[`${app}-migrate`]?.environment ?? {};
          const { CALLER_KEY } = services[app]?.environment ?? {};
          const signs = services.gateway?.environment.CALLER_KEYS?.split(',').includes(`${app}:${CALLER_KEY}`) ?? false;
          return [
            ...unless(NATS_MIGRATOR_URL === url, `streams of ${app} are made by ${NATS_MIGRATOR_URL}`),
            ...unless(signs, `the gateway does not sign callers for ${app}`),
          ];
        }),
        ...unless(texts.nats.includes('\ninclude nats-users.conf\n'), 'NATS has no users'),
      ];
    },
    planted: [
      ['compose', 'nats://billing:${BILLING_NATS_PASSWORD', 'nats://catalog:${CATALOG_NATS_PASSWORD'],
      ['compose', 'nats://migrator:${MIGRATOR_NATS_PASSWORD', 'nats://operator:${OPERATOR_NATS_PASSWORD'],
      ['compose', 'billing:${BILLING_CALLER_KEY', 'billing:${CATALOG_CALLER_KEY'],
      ['compose', `'"\${BILLING_NATS_PASSWORD`, `'\${BILLING_NATS_PASSWORD`],
      ['nats', 'include nats-users.conf', '# include nats-users.conf'],
      ['natsUsers', 'user: billing, password: $BILLING_LOGIN', 'user: billings, password: $BILLINGS_LOGIN'],
    ],
  },
  'nothing starts before what it needs answers': {
    find(texts) {
      const { services } = compose(texts);
      return Object.entries(services).flatMap(([name, { depends_on = {}, environment, healthcheck }]) => {
        const urls = name.endsWith('-migrate') ? ownersAlone : ['DATABASE_URL', 'NATS_URL', 'REDIS_URL'];
        const hosts = urls.flatMap(url => (environment[url] === undefined ? [] : new URL(environment[url]).hostname));
        const unasked = Object.entries(depends_on).filter(([on, { condition }]) =>
          condition === 'service_healthy'
            ? !services[on]?.healthcheck?.test
            : condition !== 'service_completed_successfully',
        );
        const asks = healthcheck?.test?.join(' ') === 'CMD node /recur/deploy/healthy.mjs /readyz';
        return [
          ...only(hosts, Object.keys(depends_on)).map(host => `${name} does not wait for ${host}`),
          ...unasked.map(([on]) => `${name} waits for ${on} without knowing when it is ready`),
          ...unless(!apps.some(app => app === name) || asks, `${name} is not asked whether it is ready`),
        ];
      });
    },
    planted: [
      ['compose', '      redis: { condition: service_healthy }\n', ''],
      ['compose', '      nats: { condition: service_healthy }', '      nats: { condition: service_started }'],
      ['compose', 'test: [CMD, wget', 'command: [CMD, wget'],
      ['compose', 'healthy.mjs, /readyz]', 'healthy.mjs, /livez]'],
    ],
  },
  'an app has the time to drain, is started again, and may do nothing else': {
    find(texts) {
      const { services, networks } = compose(texts);
      const toInternet = Object.keys(services).filter(name => services[name]?.networks?.join() !== 'inside');
      return [
        ...unless(
          toInternet.sort().join() === 'billing,catalog,gateway,identity,notification',
          `${toInternet.join()} reach the internet`,
        ),
        ...unless(networks.inside?.internal, 'the inner network is none'),
        ...apps.flatMap(app => {
          const { stop_grace_period = '' } = services[app] ?? {};
          return unless(
            Number.parseInt(stop_grace_period, 10) >= drainSeconds(app),
            `${app} is killed while it drains`,
          );
        }),
        ...[...apps, ...stores].flatMap(name => {
          const { restart, read_only, cap_drop, security_opt, user, mem_limit, pids_limit } = services[name] ?? {};
          return [
            ...unless(restart === 'unless-stopped', `${name} stays away`),
            ...unless(read_only && cap_drop?.includes('ALL'), `${name} may do more than it needs`),
            ...unless(security_opt?.includes('no-new-privileges:true'), `${name} may gain privileges`),
            ...unless(mem_limit !== undefined && pids_limit !== undefined, `${name} may take the whole machine`),
            // NATS: see docker-compose.yml; the apps' image names its account itself
            ...unless(!['postgres', 'redis'].includes(name) || user === name, `${name} runs as root`),
          ];
        }),
      ];
    },
    planted: [
      ['compose', 'stop_grace_period: 45s', 'stop_grace_period: 30s'],
      ['compose', '  stop_grace_period: 30s\n  healthcheck', '  stop_grace_period: 12s\n  healthcheck'],
      ['compose', '  restart: unless-stopped\n  read_only', '  restart: "no"\n  read_only'],
      ['compose', '  cap_drop: [ALL]\n', ''],
      ['compose', 'x-store: &store\n  restart: unless-stopped\n  read_only: true\n', 'x-store: &store\n'],
      ['compose', '    user: redis\n', ''],
      ['compose', '    mem_limit: 1g\n', ''],
      ['compose', 'inside: { internal: true }', 'inside: {}'],
    ],
  },
  'what is stored is on volumes, and what is mounted exists': {
    find(texts) {
      const { services, volumes } = compose(texts);
      const mounts = Object.values(services).flatMap(service => service.volumes ?? []);
      const place = { postgres: '/var/lib/postgresql', nats: '/data', redis: '/data' };
      return [
        ...Object.entries(place).flatMap(([name, folder]) => {
          const isKept = services[name]?.volumes?.includes(`${name}:${folder}`) && name in volumes;
          return unless(isKept, `${name} keeps nothing`);
        }),
        ...unless(texts.nats.includes('store_dir: /data\n'), 'JetStream is not on its volume'),
        ...unless(services.redis?.command?.join(' ').includes('--appendonly yes'), 'Redis has no append-only file'),
        ...unless(
          services.redis?.command?.join(' ').includes('"requirepass $$REDIS_PASSWORD"'),
          'Redis has no password',
        ),
        ...mounts.flatMap(mount => unless(!mount.startsWith('./') || exists(mount.split(':')[0] ?? ''), mount)),
      ];
    },
    planted: [
      ['compose', 'redis:/data', 'redis:/redis'],
      ['compose', 'volumes:\n  postgres:\n', 'volumes:\n'],
      ['compose', '--appendonly yes', '--appendonly no'],
      ['compose', 'echo "requirepass $$REDIS_PASSWORD"', 'echo ""'],
      ['compose', './deploy/postgres-init.sql', './deploy/init.sql'],
      ['nats', 'store_dir: /data', 'store_dir: /tmp'],
    ],
  },
};

describe('a deployment', () => {
  it('is about all apps', () => {
    // the hosted pages are files, which the gateway's image has
    const running = readdirSync(path.join(root, 'apps')).filter(app => app !== 'portal');
    expect(apps).toEqual(running.sort());
  });

  it.each(Object.entries(guards))('%s', (_, guard) => {
    expect(guard.find(files)).toEqual([]);
    expect(unnoticed(guard, files)).toEqual([]);
  });

  it('has a page with the settings of the schemas: after a change, run the two commands of docs/api.md', () => {
    const file = 'docs/deployment.md';
    const page = readFileSync(path.join(root, file), 'utf8');
    expect(formatted(withSettings(page, { billing }), file)).not.toBe(page);
    expect(formatted(withSettings(page, schemas), file)).toBe(page);
  });
});
