import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Client, orThrow } from '@recur/client';
import { anyUser, type Operation, operations, services } from '@recur/contracts';
import type { Wire } from '../../wire.js';
import { type Field, fieldsOf, type Ids, isList, kindOf, queryOf, schemaOf, smallestOf, withAt } from '../requests.js';
import { type Stand, sharedStand, withoutRequestId } from '../stand.js';
import { type Id, type Kind, kinds, make, nameless, unknownLike } from '../world.js';

/** Where an id is a word for what is being made or changed, not the name of something that there is. */
const given = [
  'user.new externalUserId',
  'user.update externalUserId',
  'session.new_session externalUserId',
  'plan.new externalPlanId',
  'plan.edit externalPlanId',
  // kept, and compared with the products of events as they come
  'webhook.new_endpoint productIds',
  'webhook.update_endpoint productIds',
  // kept, and compared with the plan that a code is used for
  'discount.new planIds',
  'discount.edit planIds',
  'discount.batch_template_new planIds',
  'discount.batch_template_edit planIds',
];

/**
 * Where an own id finds as little as an unknown one: no code was used yet, and an API key writes no notes.
 */
const barren = [
  'subscription.renew userId',
  'subscription.update_submit userId',
  'subscription.cancel_at_period_end userId',
  'subscription.cancel userId',
  // the users, plans and products of the world have no subscriptions and no usage, or more than one name is needed
  'subscription.cancel_last_cancel_at_period_end userId',
  'discount.user_discount_list subscriptionIds',
  'metric.event_batch productId',
  'metric.event_current_value productId',
  'metric.check productId',
  'metric.event_list invoiceId',
  'metric.event_list metricIds',
  'metric.event_list subscriptionIds',
  'metric.event_list userIds',
  'metric.event_new productId',
  'metric.history_invoices subscriptionId',
  'metric.history_invoices userId',
  'metric.limit_adjust productId',
  'metric.limit_adjust subscriptionId',
  'metric.limit_adjust userId',
  'metric.limit_adjust_list metricId',
  'metric.limit_adjust_list subscriptionId',
  'metric.limit_adjust_list userId',
  'metric.user_metric productId',
  'payment.item_list userId',
  'subscription.cancel productId',
  'subscription.cancel_at_period_end productId',
  'subscription.cancel_last_cancel_at_period_end productId',
  'subscription.list externalUserId',
  'subscription.list planIds',
  'subscription.list productIds',
  'subscription.list userId',
  'subscription.new_onetime_addon_payment addonId',
  'subscription.new_onetime_addon_payment gatewayId',
  'subscription.new_onetime_addon_payment userId',
  'subscription.onetime_addon_list userId',
  'subscription.preview_next_invoice productId',
  'subscription.renew gatewayId',
  'subscription.renew productId',
  'subscription.timeline_list userId',
  'subscription.update_submit addonPlanId',
  'subscription.update_submit gatewayId',
  'subscription.update_submit newPlanId',
  'subscription.user_subscription_detail productId',
  'discount.plan_apply_preview userId',
  'discount.user_discount_list planIds',
  'discount.user_discount_list userIds',
  // the notes of the world credit no plan's lines
  'invoice.credit_note_list planIds',
  // a method is found by gateway, user and its own id together, and a wire transfer has none; see billing's tests
  'payment.method_delete gatewayId',
  'payment.method_delete userId',
  'payment.method_get gatewayId',
  'payment.method_get userId',
  'payment.method_list gatewayId',
  'payment.method_list userId',
  'payment.method_list paymentId',
  // it must be the payment of the invoice, and any other is refused alike
  'invoice.refund paymentId',
  // a filter beside the payment, whose user it must be
  'refund.list userId',
  'session.user_sub_update_url productId',
  'user.list planIds',
  'user.new_admin_note userId',
];

interface Case {
  operation: Operation;
  field: Field;
  kind: Kind;
}
const idFields = (operation: Operation) =>
  fieldsOf(schemaOf(operation)).filter(({ name, schema }) => /Ids?$/.test(name) || schema['x-kind']);
/** An API key may call no operation of the hosted pages, whose users see nothing of each other by portal-tenancy.ts. */
const ofMerchants = operations.filter(({ permission }) => permission !== anyUser);
const cases = ofMerchants.flatMap(operation =>
  idFields(operation).flatMap((field): Case[] => {
    const kind = kindOf(field.name, field.schema);
    return kind && !given.includes(`${operation.name} ${field.name}`) ? [{ operation, field, kind }] : [];
  }),
);

let stand: Stand;
let api: Client;
let wire: Wire;
let theirs: Ids;
let neighbour: number;

const rank = ({ effect }: Operation) => (effect === 'read' ? 0 : 1);
const worldOf = async (of: Client, some: readonly Kind[] = kinds): Promise<Ids> =>
  Object.fromEntries(await Promise.all(some.map(async kind => [kind, [await make(kind, of)]]))) as unknown as Ids;
/** The objects that an operation may name: a merchant may have only so many of some kinds. */
const namedBy = (operation: Operation): Kind[] => [
  ...new Set(fieldsOf(schemaOf(operation)).flatMap(({ name, schema }) => kindOf(name, schema) ?? [])),
];

beforeAll(async () => {
  stand = await sharedStand();
  const own = await stand.shop('Own');
  const other = await stand.shop('Neighbour');
  ({ api, wire } = own);
  neighbour = other.merchantId;
  theirs = await worldOf(other.api);
  const { gateway, user } = await worldOf(api);
  orThrow(await api.post('/merchant/user/update', { userId: Number(user[0]), gatewayId: Number(gateway[0]) }));
});

const send = (operation: Operation, method: string, input: unknown) =>
  method === 'GET' ? wire.request(`${operation.path}?${queryOf(input)}`) : wire.send(operation.path, input as object);

describe('every field of every operation that looks like an id', () => {
  it('is known to name something, or not to', () => {
    const unknown = ofMerchants.flatMap(operation =>
      idFields(operation)
        .filter(({ name, schema }) => !kindOf(name, schema) && !(name in nameless))
        .map(({ name }) => `${operation.name} ${name}`),
    );
    expect(unknown).toEqual([]);
    expect(cases.length).toBeGreaterThan(20);
  });
});

describe("another merchant's object", () => {
  it('is answered as one that does not exist, byte for byte, by every operation; and nothing of it changes', async () => {
    const looked = await worldOf(api);
    // some of what is read comes by events
    await stand.quiet();
    const before = await stand.contents(neighbour);
    const told: string[] = [];
    // reads first: they share a world, and every other operation has one of its own to change
    for (const { operation, field, kind } of cases.toSorted((a, b) => rank(a.operation) - rank(b.operation))) {
      const own = operation.effect === 'read' ? looked : await worldOf(api, namedBy(operation));
      const base = smallestOf(operation, own, field.name);
      const inputs = ([own[kind][0], theirs[kind][0], unknownLike(theirs[kind][0] as Id)] as Id[]).map(id =>
        withAt(base, field.path, isList(field.schema) ? [id] : id),
      );
      for (const method of operation.methods) {
        const [mine, their, unknown] = await Promise.all(inputs.map(input => send(operation, method, input)));
        if (!mine || !their || !unknown) throw new Error('three answers');
        const what = `${method} ${operation.name} ${field.path.join('.')}`;
        if (withoutRequestId(their) !== withoutRequestId(unknown))
          told.push(`${what}: ${their.text} ≠ ${unknown.text}`);
        const name = `${operation.name} ${field.name}`;
        if (withoutRequestId(mine) === withoutRequestId(unknown) && !barren.includes(name))
          told.push(`${what} tells nothing of an own one: ${mine.text}`);
      }
    }
    expect(told).toEqual([]);
    await stand.quiet();
    expect(await stand.contents(neighbour)).toEqual(before);
  });
});

describe('row-level security', () => {
  /** Reached through `db.infra` only: what the platform keeps, work that is due, and lookups. */
  const infrastructure = [
    'due',
    'running_replays',
    'connection_lookups',
    'outbox',
    'idempotency',
    'inbox',
    'gate',
    'dead_letter',
    'tenants',
    'due_work',
    'clocks',
    'api_key_lookups',
    'member_emails',
    'client_sessions',
    'live_sessions',
    'users_search',
    'members_search',
    'plans_search',
    'metrics_search',
    'user_copies_search',
    'expiries',
    'mails_search',
    'gateway_routes',
    'gateway_facts',
    'invoice_links',
  ];

  it('holds where a query names no merchant: nothing of another is seen, changed or removed', async () => {
    const looked: string[] = [];
    for (const service of services) {
      const tables = await stand.ask(
        service,
        `select table_name from information_schema.columns where table_schema = 'public' and column_name = 'merchant_id'`,
      );
      const client = await stand.pool(service).connect();
      try {
        for (const table of tables.map(row => String(row.table_name)).filter(name => !infrastructure.includes(name))) {
          await client.query('begin');
          const { rows } = await client.query(`select 1 from ${table} where merchant_id = ${neighbour} limit 1`);
          await client.query(`set local role ${service}_app; set local app.merchant_id = '900000000'`);
          const seen = await client.query(`select 1 from ${table}`);
          const may = async (right: string) =>
            (await client.query(`select has_table_privilege($1, $2) as may`, [table, right])).rows[0].may;
          const run = async (right: string, text: string) =>
            (await may(right)) ? (await client.query(text)).rowCount : 0;
          const changed = await run('update', `update ${table} set merchant_id = merchant_id`);
          const removed = await run('delete', `delete from ${table}`);
          expect([table, seen.rowCount, changed, removed]).toEqual([table, 0, 0, 0]);
          await client.query('rollback');
          if (rows.length > 0) looked.push(table);
        }
      } finally {
        client.release();
      }
    }
    expect(looked).toEqual(
      expect.arrayContaining([
        'users',
        'plans',
        'metrics',
        'plan_metrics',
        'invoices',
        'payments',
        'endpoints',
        'deliveries',
      ]),
    );
  });

  it('would be missed where it was taken off', async () => {
    const client = await stand.pool('billing').connect();
    try {
      await client.query(
        'begin; alter table invoices no force row level security; alter table invoices disable row level security',
      );
      await client.query(`set local role billing_app; set local app.merchant_id = '900000000'`);
      expect((await client.query('select 1 from invoices')).rowCount).toBeGreaterThan(0);
    } finally {
      await client.query('rollback');
      client.release();
    }
  });
});
