import pg from 'pg';

export const connect = async (serverUrl: string, service: string) => {
  const url = new URL(serverUrl);
  url.pathname = `/recur_${service}`;
  const client = new pg.Client({ connectionString: url.toString() });
  await client.connect();
  return client;
};

/** Statistics are right, and what was filled is on the disk: nothing of it is written while something is measured. */
export async function settled(client: pg.Client): Promise<void> {
  await client.query('vacuum analyze');
  await client.query('checkpoint');
}

/** Copies of a row with other values in the columns that `values` names, for each n of a range. */
export const copies = (table: string, values: string, where: string, from: number, to: number) => `
  insert into ${table} select r.* from ${table} template, generate_series(${from}, ${to}) n,
    json_populate_record(template, json_build_object(${values})) r
  where template.ctid = (select ctid from ${table} where ${where} limit 1)`;

/** Varying columns of invoices: a year of them, most of them paid, a few in every other state. */
const ofInvoice = `'invoice_id', 'in_' || lpad(template.merchant_id || 'x' || n, 26, '0'), 'id', 1000000000 + n,
  'number', case when n % 100 < 3 then '' else (1000000 + n)::text end,
  'status', case when n % 100 < 3 then 'pending' when n % 100 < 6 then 'processing' when n % 10007 = 7 then 'failed'
    when n % 100 < 8 then 'cancelled' else 'paid' end,
  'user_id', 1 + n % 5000, 'currency', case when n % 50 = 1 then 'USD' else 'EUR' end,
  'biz_type', case when n % 100 = 1 then 1 else 2 end, 'total_amount', 100 + (n * 7919::bigint) % 1000000,
  'payment_id', '', 'invoice_name', case when n % 1000 = 1 then 'Order ' || n else '' end,
  'create_time', template.create_time - 31536000 + (n * 31::bigint) % 31536000,
  'finish_time', case when n % 100 < 3 then 0 else template.create_time - 31536000 + (n * 31::bigint) % 31536000 end`;
const ofLine = `'invoice_id', 'in_' || lpad(template.merchant_id || 'x' || n, 26, '0'),
  'line_id', 'in_' || lpad(template.merchant_id || 'x' || n, 26, '0') || '_1'`;
const ofUser = `'id', n, 'data', jsonb_set(jsonb_set(template.data, '{id}', to_jsonb(n)),
  '{firstName}', to_jsonb('First' || n % 977))`;

/** Plans of which a tenth or a fifth fit most filters, and of which none follows from another. */
const ofPlan = `'id', 1000000000 + n, 'version', 1,
  'status', (array['editing', 'softArchived', 'active', 'active', 'active', 'active', 'active', 'active', 'active',
    'hardArchived'])[1 + n % 10],
  'publish_status', case when n % 7 = 0 then 'published' else 'unpublished' end,
  'type', (array['recurringAddon', 'onetimeAddon', 'main', 'main', 'main', 'main', 'main', 'main'])[1 + n % 8],
  'product_id', case when n % 3 = 0 then 0 else 1000000000 + n % 200 end,
  'currency', case when n % 6 = 1 then 'USD' else 'EUR' end, 'amount', 100 + (n * 7919::bigint) % 1000000,
  'interval_unit', (array['day', 'week', 'month', 'month', 'year'])[1 + n % 5],
  'interval_count', case when n % 5 = 4 then 1 else 1 + n % 12 end, 'external_plan_id', 'ext-' || n,
  'plan_name', 'Plan ' || (n * 7919::bigint) % 100003, 'sort_name', 'plan ' || (n * 7919::bigint) % 100003,
  'create_time', template.create_time - 31536000 + (n * 31::bigint) % 31536000`;
const ofProduct = `'id', 1000000000 + n, 'version', 1, 'status', case when n % 8 = 0 then 'inactive' else 'active' end,
  'product_name', 'Product ' || (n * 7919::bigint) % 100003, 'sort_name', 'product ' || (n * 7919::bigint) % 100003,
  'create_time', template.create_time - 31536000 + (n * 31::bigint) % 31536000`;

/** Plans and products of one merchant, as many of each; it has one of both. */
export async function fillCatalog(serverUrl: string, merchantId: number, count: number): Promise<void> {
  const catalog = await connect(serverUrl, 'catalog');
  try {
    const own = `merchant_id = ${merchantId}`;
    await catalog.query(copies('products', ofProduct, `${own} and id <> 0`, 1, count));
    await catalog.query(copies('plans', ofPlan, own, 1, count));
    await settled(catalog);
  } finally {
    await catalog.end();
  }
}
const ofLogUser = `'id', 2000000000 + n, 'email', 'user' || n || '@shop.example', 'email_key', 'user' || n || '@shop.example',
  'external_user_id', '', 'first_name', 'First' || n % 977, 'last_name', 'Last' || n % 10`;
/** Members; the first one made a quarter of all entries. */
const ofMember = `'id', 1000000 + n, 'email', 'member' || n || '@shop.example', 'email_key', 'member' || n || '@shop.example',
  'is_owner', false, 'first_name', 'Ring' || n % 4, 'last_name', case n when 1 then 'Busy' else 'Calm' end`;
/**
 * A year of entries: three in five of members, the others of API keys and of the system; four in five concern a user. They
 * stand far behind the merchant's own in its chain, which they are not part of.
 */
const ofEntry = `'id', 1000000000 + n.n, 'n', 1000000000 + n.n, 'hash', '',
  'create_time', template.create_time - 31536000 + (n.n * 31::bigint) % 31536000,
  'opt_account_type', case when n.n % 5 < 3 then 0 else 2 end,
  'member_id', case when n.n % 5 > 2 then 0 when n.n % 4 = 0 then 1000001 else 1000001 + (n.n / 7) % 40 end,
  'user_id', case when n.n % 5 = 4 then 0 else 2000000001 + (n.n * 17::bigint) % 5000 end,
  'plan_id', case when n.n % 20 = 0 then 1 + n.n % 7 else 0 end,
  'invoice_id', case when n.n % 2 = 0 then 'in_' || n.n / 6 else '' end,
  'subscription_id', case when n.n % 10 = 1 then 'sub_' || n.n / 40 else '' end,
  'discount_code', case when n.n % 40 = 3 then 'TEN' else '' end`;

/** How the filled merchant's invoices and users go on growing: `invoices(n)` and `users(n)` fill up to n. */
export async function filler(serverUrl: string, merchantId: number) {
  const billing = await connect(serverUrl, 'billing');
  const identity = await connect(serverUrl, 'identity');
  const own = `merchant_id = ${merchantId}`;
  let [invoices, users] = [0, 0];
  return {
    /** A hundred merchants of a hundred invoices each stand beside, and 5000 users pay the invoices. */
    async neighbours(): Promise<void> {
      const of = (table: string, values: string) =>
        copies(table, `'merchant_id', 1000 + n % 100, ${values}`, own, 1, 10_000);
      await billing.query(of('invoices', ofInvoice));
      await billing.query(of('invoice_lines', ofLine));
      await billing.query(`${copies('user_copies', ofUser, own, 1, 5_000)} on conflict do nothing`);
    },
    async invoices(to: number): Promise<void> {
      await billing.query(copies('invoices', ofInvoice, own, invoices + 1, to));
      await billing.query(copies('invoice_lines', ofLine, `${own} and line_no = 1`, invoices + 1, to));
      await settled(billing);
      invoices = to;
    },
    async users(to: number): Promise<void> {
      const created = `create_time - 31536000 + (n * 31::bigint) % 31536000`;
      const values = `'id', 1000000000 + n, 'email', n || '@example.com', 'email_key', n || '@example.com',
        'external_user_id', 'ext-' || n, 'first_name', 'First' || n % 977, 'last_name', 'Last ' || n % 9973,
        'create_time', template.${created}`;
      await identity.query(copies('users', values, own, users + 1, to));
      await settled(identity);
      users = to;
    },
    /** The number of a finished invoice. */
    async someNumber(): Promise<string> {
      const text = `select number from invoices where ${own} and counter > 0 order by counter limit 1`;
      return String((await billing.query(text)).rows[0]?.number);
    },
    /** So many entries in the operation log, of 40 members and 5000 users, and a hundred merchants of a hundred beside. */
    async logEntries(to: number): Promise<void> {
      await identity.query(copies('members', ofMember, own, 1, 40));
      await identity.query(copies('users', ofLogUser, own, 1, 5_000));
      const beside = `'merchant_id', 1000 + n.n % 100, ${ofEntry}`;
      await identity.query(copies('operation_logs', beside, own, 1, 10_000));
      await identity.query(copies('operation_logs', ofEntry, own, 1, to));
      await settled(identity);
    },
    async close(): Promise<void> {
      await Promise.all([billing.end(), identity.end()]);
    },
  };
}
