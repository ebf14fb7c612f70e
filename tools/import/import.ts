import { parseArgs } from 'node:util';
import { type Client, createClient, orThrow, RecurError } from '@recur/client';
import { type ImportName, importResult } from '@recur/contracts';
import { readFacts } from '../local/facts.js';
import { Failure } from '../local/failure.js';
import { openHome } from '../local/home.js';
import { type Say, say, sayOnStderr, step } from '../local/progress.js';
import { isUnjudged, sent } from './files.js';
import { readFolder } from './folder.js';
import { makeCatalog, type Refused } from './making.js';
import { type Gateways, type Going, type Left, type Move, moveOf, type Over, type Row } from './moved.js';
import { agrees, type Compared, minorOf, reported } from './report.js';

const usage =
  'npm run import -- stripe <folder> [--dry] [--all] [--gateway stripe] [--transfer wire_transfer] [--url URL --key KEY]';

const options = {
  dry: { type: 'boolean' },
  all: { type: 'boolean' },
  gateway: { type: 'string', default: 'stripe' },
  transfer: { type: 'string', default: 'wire_transfer' },
  url: { type: 'string' },
  key: { type: 'string' },
} as const;

/**
 * `npm run import -- stripe <folder>`: moves what Stripe's API told of customers, prices and subscriptions to a merchant, and
 * compares the next invoice of each subscription there and here. Those that agree go on here. Returns 1 where one differs.
 */
export async function run(args: readonly string[]): Promise<number> {
  const { api, folder, gateways, isDry, takesAll } = asked(args);
  try {
    const { report, differ } = await moved(api, { folder, gateways, isDry, takesAll }, sayOnStderr);
    say(report);
    return differ ? 1 : 0;
  } catch (error) {
    throw error instanceof RecurError ? new Failure(`the merchant's system answers: ${error.message}`, 69) : error;
  }
}

function asked(args: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    const [from, folder = '', ...others] = positionals;
    if (from !== 'stripe' || folder === '' || others.length > 0) throw new Failure(`the command is ${usage}`, 64);
    const api = clientOf(values.url ?? process.env.RECUR_URL, values.key ?? process.env.RECUR_API_KEY);
    const gateways = { charged: values.gateway, sent: values.transfer };
    return { api, folder, gateways, isDry: values.dry ?? false, takesAll: values.all ?? false };
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure(`${(error as Error).message}: the command is ${usage}`, 64);
  }
}

/** A client of the deployment that is named, else of the running stack of this checkout. */
function clientOf(baseUrl: string | undefined, credential: string | undefined): Client {
  if (baseUrl && credential) return createClient({ baseUrl, credential });
  const facts = baseUrl || credential ? undefined : readFacts(openHome());
  if (!facts)
    throw new Failure(
      'say where to: --url and --key, or RECUR_URL and RECUR_API_KEY, or start a stack with "npm run up".',
      64,
    );
  return createClient({ baseUrl: facts.baseUrl, credential: facts.apiKey });
}

export interface Asked {
  folder: string;
  gateways: Gateways;
  /** Subscriptions are only tried. */
  isDry: boolean;
  /** Subscriptions whose next invoices differ are taken too. */
  takesAll: boolean;
}

/** Moves a folder to a merchant; the report, and whether a next invoice differs. */
export async function moved(api: Client, { folder, gateways, isDry, takesAll }: Asked, tell: Say) {
  const all = readFolder(folder);
  const move = moveOf(all, gateways);
  await assertGateways(api, move);
  const refusedUsers = await step(tell, `${move.users.length} users`, () => users(api, move.users));
  const known = sortedOut(move, ({ row: { ExternalUserId = '' } }) =>
    refusedUsers.has(ExternalUserId) ? `its customer ${ExternalUserId} stays there` : undefined,
  );
  const refused = await step(tell, 'products, plans and codes', () => makeCatalog(api, known, all));
  const sold = sortedOut(known, each => unsold(each, refused));
  const tried = await step(tell, `${sold.going.length} subscriptions tried`, () => tryOut(api, sold.going));
  const taken = isDry ? [] : tried.compared.filter(each => takesAll || agrees(each));
  const ids = new Set(taken.map(({ id }) => id));
  if (!isDry) {
    const rows = sold.going.filter(({ sub }) => ids.has(sub.id)).map(({ row }) => row);
    await step(tell, `${rows.length} subscriptions taken`, () => sent(api, 'ActiveSubscriptionImport', rows));
  }
  const history = await tryHistory(api, sold.over);
  if (!isDry) {
    const rows = history.fresh;
    await step(tell, `${rows.length} that are over taken`, () => sent(api, 'HistorySubscriptionImport', rows));
  }
  const left: Left[] = [
    ...move.left,
    ...[...refusedUsers].map(([id, reason]) => ({ id, reason })),
    ...known.out,
    ...sold.out,
    ...tried.refused,
    ...history.refused,
    ...[...all.others].map(([kind, count]) => ({ id: kind, reason: `${count} of these are not moved` })),
    ...[...all.customers.values()].flatMap(({ id, balance }) =>
      balance ? [{ id, reason: `its balance of ${balance} minor units is not moved: see main credit` }] : [],
    ),
  ];
  const compared = tried.compared.map(each => ({ ...each, isTaken: ids.has(each.id) }));
  return { report: reported(compared, tried.already, left), differ: compared.some(each => !agrees(each)) };
}

type Subscriptions = Pick<Move, 'going' | 'over'>;

/** Subscriptions without those that have a reason to stay, and these. */
function sortedOut({ going, over }: Subscriptions, reasonOf: (of: Going | Over) => string | undefined) {
  const out = [...going, ...over].flatMap(each => {
    const reason = reasonOf(each);
    return reason === undefined ? [] : [{ id: each.row.ExternalSubscriptionId ?? '', reason }];
  });
  const stays = (each: Going | Over) => reasonOf(each) !== undefined;
  return { going: going.filter(each => !stays(each)), over: over.filter(each => !stays(each)), out };
}

/** Why a price or coupon of a subscription is not here. */
function unsold({ plans, ...of }: Going | Over, refused: Refused): string | undefined {
  for (const { externalPlanId, price } of plans) {
    const reason = refused.plans.get(externalPlanId);
    if (reason) return `its price ${price.id} is refused here: ${reason}`;
  }
  const reason = 'code' in of ? refused.codes.get(of.code) : undefined;
  return reason && `its coupon is refused here: ${reason}`;
}

async function assertGateways(api: Client, { going, over }: Subscriptions): Promise<void> {
  const { gateways } = orThrow(await api.get('/merchant/gateway/list', {}));
  const there = gateways.filter(({ archive }) => !archive).map(({ gatewayName }) => gatewayName);
  const missing = new Set(
    [...going, ...over].map(({ row }) => row.Gateway ?? '').filter(name => !there.includes(name)),
  );
  if (missing.size === 0) return;
  throw new Failure(
    `the merchant has no gateway ${[...missing].join(' and no gateway ')}: set it up first, or name another one.`,
    69,
  );
}

/** Adds or updates users; those whose rows are refused stay there, with their reasons. */
async function users(api: Client, rows: readonly Row[]): Promise<ReadonlyMap<string, string>> {
  const results = await tried(api, 'UserImport:dry', rows);
  const fine: readonly string[] = [importResult.isNew, importResult.wasThere];
  const isFine = (row: Row) => fine.includes(results.get(row)?.ImportResult ?? '');
  await sent(api, 'UserImport', rows.filter(isFine));
  const faults = rows.filter(row => !isFine(row));
  return new Map(faults.map(row => [row.ExternalUserId ?? '', results.get(row)?.ImportResult ?? '']));
}

/** The result of each row in a dry run. Rows beside a fault may not have been judged: those are tried again without it. */
async function tried(api: Client, task: ImportName, rows: readonly Row[]): Promise<ReadonlyMap<Row, Row>> {
  const judged = new Map<Row, Row>();
  for (let left = rows; left.length > 0; ) {
    const results = await sent(api, task, left);
    for (const [at, row] of left.entries()) {
      const result = results[at];
      if (result && !isUnjudged(result)) judged.set(row, result);
    }
    left = left.filter(row => !judged.has(row));
  }
  return judged;
}

/** The result of a row whose subscription was taken before. */
const isHere = /^ExternalSubscriptionId is \S+ already$/;

/** The next invoice of each there and here, without taking any. */
async function tryOut(api: Client, going: readonly Going[]) {
  const results = await tried(
    api,
    'ActiveSubscriptionImport:dry',
    going.map(({ row }) => row),
  );
  const compared: Compared[] = [];
  const already: Left[] = [];
  const refused: Left[] = [];
  for (const { sub, there, notes, row } of going) {
    const result = results.get(row) ?? {};
    const reason = result.ImportResult ?? '';
    const currency = sub.currency.toUpperCase();
    if (reason === importResult.canBeTaken)
      compared.push({ id: sub.id, currency, there, here: hereOf(result), notes, isTaken: false });
    else if (isHere.test(reason)) already.push({ id: sub.id, reason: reason.split(' ')[2] ?? '' });
    else refused.push({ id: sub.id, reason });
  }
  return { compared, already, refused };
}

function hereOf({
  NextInvoiceTotal = '',
  NextInvoiceDiscount = '',
  NextInvoiceTax = '',
  NextInvoiceCurrency = '',
}: Row) {
  if (NextInvoiceTotal === '') return undefined;
  const [total, discount, tax] = [NextInvoiceTotal, NextInvoiceDiscount, NextInvoiceTax].map(amount =>
    minorOf(amount, NextInvoiceCurrency),
  ) as [bigint, bigint, bigint];
  return { price: total + discount - tax, discount, tax, total };
}

/** Rows of subscriptions that are over and not here yet, and those that cannot be taken. */
async function tryHistory(api: Client, over: readonly Over[]): Promise<{ fresh: Row[]; refused: Left[] }> {
  const rows = over.map(({ row }) => row);
  const results = await tried(api, 'HistorySubscriptionImport:dry', rows);
  const reasonOf = (row: Row) => results.get(row)?.ImportResult ?? '';
  const isFresh = (row: Row) => reasonOf(row) === importResult.canBeTaken;
  const others = rows.filter(row => !isFresh(row) && !isHere.test(reasonOf(row)));
  return {
    fresh: rows.filter(isFresh),
    refused: others.map(row => ({ id: row.ExternalSubscriptionId ?? '', reason: reasonOf(row) })),
  };
}
