import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Client, createClient, orThrow } from '@recur/client';
import { moved } from '../../../import/import.js';
import { majorOf } from '../../../import/report.js';
import { advanceTo } from '../../../simulate/clock.js';
import { sandboxGateway } from '../../card.js';
import { type Stand, sharedStand } from '../stand.js';
import { stripeFolder } from '../stripe.js';

let stand: Stand;
let api: Client;
let folder: string;
let made: ReturnType<typeof stripeFolder>;
/** The next invoices here, as the first report tells them. */
const here = new Map<string, string>();
const gateways = { charged: 'sandbox', sent: 'wire_transfer' };

beforeAll(async () => {
  stand = await sharedStand();
  const { apiKey } = await stand.stack.merchant('Stripe');
  api = createClient({ baseUrl: stand.stack.facts().baseUrl, credential: apiKey });
  await sandboxGateway(api);
  orThrow(await api.post('/merchant/gateway/wire_transfer_setup', { currency: 'EUR', minimumAmount: 0 }));
  folder = mkdtempSync(path.join(tmpdir(), 'recur-stripe-'));
  made = stripeFolder(folder, Math.floor(Date.now() / 1_000));
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = (over: { isDry?: boolean; takesAll?: boolean } = {}) =>
  moved(api, { folder, gateways, isDry: false, takesAll: false, ...over }, () => undefined);
const subscriptions = async () => orThrow(await api.get('/merchant/subscription/list', { count: 100 })).subscriptions;
/** The words after an id in a report. */
const saidOf = (report: string, id: string) =>
  report
    .split('\n')
    .find(line => line.trim().startsWith(`${id} `))
    ?.trim()
    .slice(id.length)
    .trim() ?? '';

it('compares the next invoice of 30 subscriptions of all kinds to the cent, and names why three differ', async () => {
  const { report, differ } = await run({ isDry: true });
  for (const line of report.split('\n')) {
    const [, id = '', total = ''] = /^(sub_\d+) +(?:\S+ [A-Z]{3}|none) +(\S+ [A-Z]{3}|none) /.exec(line) ?? [];
    if (id !== '') here.set(id, total);
  }
  expect(here.size).toBe(30);
  expect(differ).toBe(true);
  expect(report.split('\n').at(-1)).toMatch(/^27 agree, 3 differ, 0 were here already, \d+ stay there\.$/);
  const { tax, price, discount } = made.differing;
  expect(saidOf(report, tax)).toMatch(
    /^23\.80 EUR +20\.00 EUR +DIFFERS: tax 3\.80 there, 0\.00 here; Stripe finds its tax, here the rules of taxes do$/,
  );
  expect(saidOf(report, price)).toMatch(/^23\.00 EUR +20\.00 EUR +DIFFERS: price 23\.00 there, 20\.00 here$/);
  expect(saidOf(report, discount)).toMatch(
    /^666\.67 EUR +666\.70 EUR +DIFFERS: discount 333\.33 there, 333\.30 here; its percentage has more than two decimals$/,
  );
  expect(report.match(/DIFFERS/g)).toHaveLength(3);
  for (const [id, reason] of Object.entries(made.staying)) expect(saidOf(report, id)).toMatch(reason);
  expect(saidOf(report, 'event')).toBe('1 of these are not moved');
  expect(await subscriptions()).toEqual([]);
});

it('takes those that agree, each once, and what is over; the others when it is told to', async () => {
  const first = await run();
  expect(first.report.split('\n').at(-1)).toMatch(/^27 agree, 3 differ, 0 were here already/);
  const taken = (await subscriptions()).map(({ subscription }) => subscription);
  const { tax, price, discount } = made.differing;
  const ids = taken.map(({ externalSubscriptionId }) => externalSubscriptionId);
  expect(ids).toHaveLength(28);
  expect(ids).toContain(made.over);
  for (const id of [tax, price, discount, ...Object.keys(made.staying)]) expect(ids).not.toContain(id);
  const again = await run();
  expect(again.report.split('\n').at(-1)).toMatch(/^0 agree, 3 differ, 27 were here already/);
  expect(await subscriptions()).toHaveLength(28);
  const all = await run({ takesAll: true });
  expect(saidOf(all.report, tax)).toContain('DIFFERS, taken: tax 3.80 there');
  expect(await subscriptions()).toHaveLength(31);
});

it('makes the invoices that the report told of, each at the end of its period', async () => {
  const { report } = await run({ isDry: true });
  expect(report.split('\n').at(-1)).toMatch(/^0 agree, 0 differ, 30 were here already/);
  const all = await subscriptions();
  const ends = new Map(
    all.map(({ subscription: { subscriptionId, currentPeriodEnd } }) => [subscriptionId, currentPeriodEnd]),
  );
  await advanceTo(api, Math.floor(Date.now() / 1_000) + 40 * 86_400);
  const { invoices } = orThrow(
    await api.get('/merchant/invoice/list', { count: 100, sortField: 'createTime', sortType: 'asc' }),
  );
  const next = new Map(invoices.toReversed().map(invoice => [invoice.subscriptionId, invoice]));
  const made = all.flatMap(({ subscription: { subscriptionId, externalSubscriptionId: id } }) => {
    const invoice = next.get(subscriptionId);
    if (!invoice) return [];
    expect([id, invoice.periodStart]).toEqual([id, ends.get(subscriptionId)]);
    const total = `${majorOf(BigInt(invoice.totalAmount), invoice.currency)} ${invoice.currency}`;
    return [[id, total] as const];
  });
  const told = [...here].filter(([id, total]) => total !== 'none' && made.some(([other]) => other === id));
  // those of a year and of three months end later, and two end with their periods
  expect(made).toHaveLength(26);
  expect(new Map(made)).toEqual(new Map(told));
});
