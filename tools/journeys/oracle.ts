import { isDeepStrictEqual } from 'node:util';
import { events as registry, type Service, services, slimming } from '@recur/contracts';
import pg from 'pg';
import type { StackFacts } from '../local/facts.js';
import type { Ask, Row } from './ask.js';
import { always, everywhere, type Rule, told } from './invariants.js';
import { entries } from './logs.js';
import { moneyRules, settledMoneyRules } from './money-rules.js';
import { settledUsageRules, usageRules } from './usage-rules.js';

const atAnyMoment = { ...always, ...moneyRules, ...usageRules };

/** Rules that hold once the system is idle: nothing is lost between services. */
const eventually: Record<string, Rule> = {
  ...settledMoneyRules,
  ...settledUsageRules,
  'every event is published': ask =>
    everywhere(
      ask,
      `select type || ' ' || id || ' is not published' as what
       from unpublished cross join unnest(seqs) seq join outbox using (seq)`,
    ),
  'work that is due is done': ask =>
    everywhere(
      ask,
      `select kind || ' ' || key || ' is due' as what from due_work
       where parked_at is null and lease_until is null and due_at <= extract(epoch from now())`,
    ),
  'nothing is parked': ask =>
    everywhere(ask, `select consumer || ' has parked ' || event_id || ': ' || reason as what from dead_letter`),
  'a consumer has seen exactly the events of its subject': inboxes,
  'copies are the newest state': async ask => [
    ...(await copies(ask, 'identity', 'user', 'billing', 'user_copies')),
    ...(await copies(ask, 'catalog', 'plan', 'billing', 'plan_copies')),
    ...(await copies(ask, 'catalog', 'product', 'billing', 'product_copies')),
    ...(await copies(ask, 'billing', 'gateway', 'identity', 'gateway_copies')),
    ...(await copies(ask, 'billing', 'creditAccount', 'identity', 'credit_account_copies')),
    ...(await copies(ask, 'billing', 'subscription', 'identity', 'subscription_copies')),
    ...(await copies(ask, 'catalog', 'plan', 'identity', 'plan_copies')),
    ...(await copies(ask, 'catalog', 'product', 'identity', 'product_copies')),
  ],
  'the operation log has every entry once': entries,
  'every webhook has one delivery': deliveries,
  'a delivery is scheduled or has ended': ask =>
    told(
      ask,
      'notification',
      `select coalesce(d.delivery_id, due.delivery_id) || ' is ' || coalesce(d.state, 'no delivery') ||
         case when due.delivery_id is null then ' and not due' else ' and due' end as what
       from deliveries d full join due using (delivery_id) where (d.state = 'scheduled') is distinct from (due.delivery_id is not null)`,
    ),
};

/** Consumers: name, owner of the events, and prefix of the types it takes. */
function consumers(): { in: Service; name: string; from: Service; takes: (type: string) => boolean }[] {
  const startsWith = (word: string) => (type: string) => type.startsWith(`${word}.`);
  const webhookSources = new Map<string, { from: Service; word: string }>();
  for (const [type, { owner, webhook }] of Object.entries(registry)) {
    const word = type.slice(0, type.indexOf('.'));
    if (webhook && owner !== 'every') webhookSources.set(`notification-${owner}-${word}`, { from: owner, word });
  }
  return [
    { in: 'billing', name: 'billing-copy-users', from: 'identity', takes: startsWith('user') },
    { in: 'billing', name: 'billing-copy-plans', from: 'catalog', takes: startsWith('plan') },
    { in: 'billing', name: 'billing-copy-metrics', from: 'catalog', takes: startsWith('metric') },
    { in: 'billing', name: 'billing-copy-products', from: 'catalog', takes: startsWith('product') },
    { in: 'billing', name: 'billing-copy-checkouts', from: 'catalog', takes: startsWith('checkout') },
    { in: 'billing', name: 'billing-copy-merchants', from: 'identity', takes: startsWith('merchant') },
    { in: 'identity', name: 'identity-clock', from: 'billing', takes: startsWith('clock') },
    { in: 'catalog', name: 'catalog-clock', from: 'billing', takes: startsWith('clock') },
    { in: 'notification', name: 'notification-clock', from: 'billing', takes: startsWith('clock') },
    { in: 'identity', name: 'identity-copy-gateways', from: 'billing', takes: startsWith('gateway') },
    { in: 'identity', name: 'identity-copy-credit_accounts', from: 'billing', takes: startsWith('credit') },
    { in: 'identity', name: 'identity-copy-subscriptions', from: 'billing', takes: startsWith('subscription') },
    { in: 'identity', name: 'identity-copy-plans', from: 'catalog', takes: startsWith('plan') },
    { in: 'identity', name: 'identity-copy-products', from: 'catalog', takes: startsWith('product') },
    { in: 'identity', name: 'identity-copy-currencies', from: 'catalog', takes: startsWith('currency') },
    ...services.map(from => ({
      in: 'identity' as const,
      name: `identity-log-${from}`,
      from,
      takes: (type: string) => type === 'operation.logged',
    })),
    ...[...webhookSources].map(([name, { from, word }]) => ({
      in: 'notification' as const,
      name,
      from,
      takes: startsWith(word),
    })),
  ];
}

async function inboxes(ask: Ask): Promise<string[]> {
  const emitted = new Map<Service, Row[]>();
  const seen = new Map<Service, Map<string, Set<unknown>>>();
  for (const service of services) {
    // inboxes before outboxes: an event that is emitted in between is then missing, and looked for again
    const inbox = new Map<string, Set<unknown>>();
    for (const { consumer, event_id } of await ask(service, 'select consumer, event_id from inbox')) {
      inbox.set(String(consumer), (inbox.get(String(consumer)) ?? new Set()).add(event_id));
    }
    seen.set(service, inbox);
  }
  for (const service of services) emitted.set(service, await ask(service, 'select id, type from outbox'));
  const known = consumers();
  const findings: string[] = [];
  for (const consumer of known) {
    const ids = seen.get(consumer.in)?.get(consumer.name) ?? new Set();
    const own = (emitted.get(consumer.from) ?? []).filter(({ type }) => consumer.takes(String(type)));
    for (const { id, type } of own)
      if (!ids.delete(id)) findings.push(`${consumer.name} has not seen ${type} ${String(id)}`);
    for (const id of ids) findings.push(`${consumer.name} has seen ${id}, which nobody emitted`);
  }
  for (const service of services) {
    for (const name of seen.get(service)?.keys() ?? []) {
      if (!known.some(consumer => consumer.name === name)) findings.push(`${name} in ${service} is not looked at here`);
    }
  }
  return findings;
}

/** An event of each aggregate that others have copies of. */
const copied = {
  user: 'user.created',
  plan: 'plan.created',
  gateway: 'gateway.created',
  subscription: 'subscription.created',
  product: 'product.created',
  creditAccount: 'credit.account.updated',
} as const;
type Copied = keyof typeof copied;

async function copies(ask: Ask, owner: Service, aggregate: Copied, at: Service, table: string): Promise<string[]> {
  const newest = await ask(
    owner,
    `select distinct on (merchant_id, aggregate_id) merchant_id, aggregate_id as id, version, envelope::json->'data' as data
     from outbox where aggregate = '${aggregate}' order by merchant_id, aggregate_id, version desc`,
  );
  const { complete } = slimming<unknown>(registry[copied[aggregate]].data);
  const rows = await ask(at, `select merchant_id, id::text, version, data from ${table}`);
  const own = new Map(rows.map(row => [`${row.merchant_id} ${row.id}`, row]));
  return newest.flatMap(({ merchant_id, id, version, data }) => {
    const copy = own.get(`${merchant_id} ${id}`);
    if (!copy || copy.version !== version) {
      return [`${table} has version ${copy?.version ?? 'none'} of ${aggregate} ${id}, the owner is at ${version}`];
    }
    const differing = differingFields(complete(copy.data), complete(data));
    if (differing.length === 0) return [];
    return [`${table} has another ${differing.join(', ')} of ${aggregate} ${id} than the owner at ${version}`];
  });
}

function differingFields(one: unknown, other: unknown): string[] {
  const ofOne = new Map(Object.entries(one as object));
  const ofOther = new Map(Object.entries(other as object));
  const names = new Set([...ofOne.keys(), ...ofOther.keys()]);
  return [...names].filter(name => !isDeepStrictEqual(ofOne.get(name), ofOther.get(name)));
}

/**
 * An endpoint may or may not have been there for an event of the very second in which it was made. What one that was
 * changed or deleted has missed is not known here.
 */
async function deliveries(ask: Ask): Promise<string[]> {
  const endpoints = await ask(
    'notification',
    `select merchant_id, endpoint_id, events, create_time from endpoints e where product_ids = '{}' and not exists (
       select 1 from outbox where aggregate = 'endpoint' and aggregate_id = e.endpoint_id::text
         and type in ('webhook.endpoint.updated', 'webhook.endpoint.deleted'))`,
  );
  const made = await ask('notification', 'select endpoint_id, event_id from deliveries');
  const has = new Set(made.map(row => `${row.endpoint_id} ${row.event_id}`));
  const findings: string[] = [];
  for (const service of services) {
    const emitted = await ask(service, `select id, type, merchant_id, envelope::json->>'at' as at from outbox`);
    for (const event of emitted) {
      const { webhook = false } = (registry as Record<string, { webhook: boolean }>)[String(event.type)] ?? {};
      if (!webhook) continue;
      for (const endpoint of endpoints) {
        const wanted = (endpoint.events as string[]).includes(String(event.type));
        const there = endpoint.merchant_id === event.merchant_id && Number(event.at) > Number(endpoint.create_time);
        if (wanted && there && !has.has(`${endpoint.endpoint_id} ${event.id}`)) {
          findings.push(`${event.type} ${event.id} has no delivery to endpoint ${endpoint.endpoint_id}`);
        }
      }
    }
  }
  return findings;
}

async function broken(rules: Record<string, Rule>, ask: Ask): Promise<string[]> {
  const findings: string[] = [];
  for (const [name, rule] of Object.entries(rules)) {
    for (const what of await rule(ask)) findings.push(`${name}: ${what}`);
  }
  return findings;
}

/** Every rule that is broken now, with what breaks it; empty when all is well. */
export async function look(ask: Ask): Promise<string[]> {
  return [...(await broken(atAnyMoment, ask)), ...(await broken(eventually, ask))];
}

/** URLs of databases that are not on the stack's server. */
export type Places = Partial<Record<Service, string>>;

/** A stack, as far as its database server. */
type ServerOf = { services: { postgres: Pick<StackFacts['services']['postgres'], 'url'> } };

/** A pool per database, as its superuser. */
export function databases({ services: parts }: ServerOf, places: Places = {}) {
  const pools = new Map(
    services.map(service => {
      const url = new URL(parts.postgres.url);
      url.pathname = `/recur_${service}`;
      const pool = new pg.Pool({ connectionString: places[service] ?? url.toString(), max: 2 });
      pool.on('error', () => undefined);
      return [service, pool] as const;
    }),
  );
  const pool = (service: Service) => pools.get(service) as pg.Pool;
  return {
    pool,
    ask: (async (service, text) => (await pool(service).query<Row>(text)).rows) satisfies Ask,
    close: async () => {
      await Promise.all([...pools.values()].map(each => each.end()));
    },
  };
}

const pollMs = 100;

/**
 * Looks until nothing is broken any more, and returns what still is once it has not become less for a time; what may never
 * be broken is returned as soon as it is. `done` is one more thing to wait for.
 */
export async function settled(ask: Ask, done: Rule = async () => [], withinMs = 180_000): Promise<string[]> {
  let [deadline, least] = [Date.now() + withinMs, Number.POSITIVE_INFINITY];
  for (;;) {
    const never = await broken(atAnyMoment, ask);
    const yet = [...(await broken(eventually, ask)), ...(await done(ask))];
    if (yet.length < least) [deadline, least] = [Date.now() + withinMs, yet.length];
    if (never.length > 0 || yet.length === 0 || Date.now() > deadline) return [...never, ...yet];
    await new Promise(resolve => setTimeout(resolve, pollMs));
  }
}

/** For `settled`: nothing is on its way to an endpoint. */
export const allDelivered: Rule = ask =>
  told(ask, 'notification', `select delivery_id || ' is ' || state as what from deliveries where state <> 'delivered'`);
