import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Client, createClient, orThrow } from '@recur/client';
import { exportColumns, type ImportName, importColumns, type Task, taskStatus } from '@recur/contracts';
import { Seller } from '../examples/seller.js';
import { on } from '../examples/time-line.js';
import { type Stand, sharedStand, until } from '../stand.js';

/* Files of users and subscriptions: sent as forms, taken in the background, and renewed by the clock. */

let stand: Stand;
let key: string;
let api: Client;

beforeAll(async () => {
  stand = await sharedStand();
  key = (await stand.stack.merchant('Newcomer')).apiKey;
  api = createClient({ baseUrl: baseUrl(), credential: key });
});

const baseUrl = () => stand.stack.facts().baseUrl;
const tasksOf = async (of: Client) => orThrow(await of.get('/merchant/task/list', { count: 100 })).downloads;

async function ended(of: Client, id: number): Promise<Task> {
  const find = async () => (await tasksOf(of)).find(one => one.id === id);
  const found = await until(find, one => one !== undefined && one.status >= taskStatus.done);
  if (!found) throw new Error('the task is not listed');
  return found;
}

/** Sends a file as a form, and waits for the end of its import. */
async function take(
  task: ImportName,
  file: Buffer | string,
  [credential, of]: readonly [string, Client] = [key, api],
): Promise<Task> {
  const form = new FormData();
  form.set('task', task);
  form.set('file', new File([new Uint8Array(Buffer.from(file))], 'rows'));
  const headers = { authorization: `Bearer ${credential}` };
  const answer = await fetch(`${baseUrl()}/merchant/task/new_import`, { method: 'POST', body: form, headers });
  if (!answer.ok) throw new Error(await answer.text());
  const { data } = (await answer.json()) as { data: { task: Task } };
  return ended(of, data.task.id);
}

async function fileOf({ downloadUrl }: Task): Promise<Buffer> {
  const answer = await fetch(downloadUrl);
  expect(answer.status).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
}

/** The lines of a csv file whose cells need no quotes. */
const linesOf = async (task: Task) => (await fileOf(task)).toString().slice(1).trimEnd().split('\r\n');
const userNamed = async (email: string) => orThrow(await api.get('/merchant/user/list', { email })).userAccounts[0];

describe('users of a file', () => {
  it('are tried, taken, and updated when it is sent again', async () => {
    const file =
      'Email;ExternalUserId;FirstName;CountryCode\nada@mail.example;crm-1;Ada;DE\nbob@mail.example;crm-2;Bob;US\n';
    const tried = await take('UserImport:dry', file);
    expect(tried).toMatchObject({ status: taskStatus.done, taskType: 1, taskName: 'UserImport:dry' });
    expect(await userNamed('ada@mail.example')).toBeUndefined();
    expect(await take('UserImport', file)).toMatchObject({ status: taskStatus.done, successCount: 2 });
    expect(await userNamed('ada@mail.example')).toMatchObject({ externalUserId: 'crm-1', countryName: 'Germany' });
    const again = await take('UserImport', file.replace('Ada', 'Augusta'));
    expect((await linesOf(again)).map(line => line.split(',').at(-2))).toEqual([
      'ImportResult',
      'was there',
      'was there',
    ]);
    expect(await userNamed('ada@mail.example')).toMatchObject({ firstName: 'Augusta' });
  });

  it('come as a workbook from the export of another merchant', async () => {
    const { api: other } = await stand.shop('Elsewhere');
    const names = Array.from({ length: 5 }, (_, at) => `=Name ${at} & "co"`);
    for (const [at, firstName] of names.entries()) {
      orThrow(await other.post('/merchant/user/new', { email: `moved-${at}@mail.example`, firstName }));
    }
    const shared = Object.keys(exportColumns('UserExport')).filter(name => name in importColumns('UserImport'));
    const asked = { task: 'UserExport', exportColumns: shared, payload: { email: 'moved-' } } as const;
    const { task } = orThrow(await other.post('/merchant/task/new_export', asked));
    const taken = await take('UserImport', await fileOf(await ended(other, task.id)));
    expect(taken).toMatchObject({ status: taskStatus.done, format: 'xlsx', failureReason: '', successCount: 5 });
    for (const [at, firstName] of names.entries()) {
      expect(await userNamed(`moved-${at}@mail.example`)).toMatchObject({ firstName });
    }
  });

  it('are none of them taken where one cannot be: row and column are named, and the file goes back corrected', async () => {
    const refused = await take('UserImport', 'Email,Type\nfine@mail.example,individual\nno address,robot\n');
    expect(refused).toMatchObject({ status: taskStatus.failed, successCount: 0 });
    expect(refused.failureReason).toMatch(/^Row 3: Email must be .*\nRow 3: Type must be individual or business$/);
    expect(await userNamed('fine@mail.example')).toBeUndefined();
    const corrected = (await fileOf(refused)).toString().replace('no address,robot', 'good@mail.example,business');
    expect(await take('UserImport', corrected)).toMatchObject({ status: taskStatus.done, successCount: 2 });
  });
});

describe('subscriptions of a file', () => {
  it('go on at their own times with their own amounts, by the cards that they were charged with there', async () => {
    const seller = await Seller.open(stand, 'Movers');
    const as = [seller.apiKey, seller.api] as const;
    await seller.to(on('02-01'));
    const planId = await seller.plan();
    await take('UserImport', 'Email,ExternalUserId\none@mail.example,m-1\ntwo@mail.example,m-2\n', as);
    const header =
      'ExternalSubscriptionId,ExternalUserId,PlanId,Quantity,Amount,Gateway,GatewayUserId,GatewayPaymentMethod';
    const year = new Date(on('02-01') * 1_000).getUTCFullYear();
    const file = [
      `${header},CurrentPeriodStart,CurrentPeriodEnd,BillingCycleAnchor`,
      `there-1,m-1,${planId},2,19.98,sandbox,cus_1,succeeds,${year}-01-20,${year}-02-20,${year - 1}-11-20`,
      `there-2,m-2,${planId},,,sandbox,cus_2,succeeds,${year}-01-31 12:00:00,${year}-02-28 12:00:00,${year}-01-31 12:00:00`,
    ].join('\n');
    const tried = await take('ActiveSubscriptionImport:dry', file, as);
    expect(tried).toMatchObject({ status: taskStatus.done, failureReason: '' });
    const results = (await linesOf(tried)).map(line => line.split(',').slice(-6).join());
    expect(results).toEqual([
      'ImportResult,NextInvoiceTime,NextInvoiceTotal,NextInvoiceDiscount,NextInvoiceTax,NextInvoiceCurrency',
      `can be taken,${year}-02-17 00:00:00,19.98,0,0,EUR`,
      `can be taken,${year}-02-25 12:00:00,10,0,0,EUR`,
    ]);
    expect(await subscriptionsOf(seller.api)).toEqual([]);

    const wrong = await take('ActiveSubscriptionImport', file.replace(`m-2,${planId},,`, `m-2,${planId},x,`), as);
    expect(wrong).toMatchObject({ status: taskStatus.failed });
    expect(wrong.failureReason).toBe('Row 3: Quantity must be a whole number of at least 1');
    expect(await subscriptionsOf(seller.api)).toEqual([]);

    // the file of the dry run, as it came back
    const taken = await take('ActiveSubscriptionImport', await fileOf(tried), as);
    expect(taken).toMatchObject({ status: taskStatus.done, failureReason: '', successCount: 2 });
    const subscriptions = await subscriptionsOf(seller.api);
    expect(subscriptions.map(({ externalSubscriptionId }) => externalSubscriptionId)).toEqual(['there-2', 'there-1']);
    expect(await take('ActiveSubscriptionImport', file, as)).toMatchObject({
      status: taskStatus.failed,
      failureReason: expect.stringMatching(
        /^Row 2: ExternalSubscriptionId is sub_\w+ already\nRow 3: ExternalSubscriptionId is sub_\w+ already$/,
      ),
    });

    await seller.to(on('03-01'));
    const invoices = await Promise.all(subscriptions.toReversed().map(({ userId }) => seller.invoices(userId)));
    expect(invoices).toEqual([['Cycle 3 02-20 03-20 1998'], ['Cycle 3 02-28T12 03-31T12 1000']]);
  });

  it('are of their merchant alone: neither its tasks nor its links are open to another', async () => {
    const mine = await take('UserImport', 'Email\nalone@mail.example\n');
    const { api: other } = await stand.shop('Bystander');
    expect(await tasksOf(other)).toEqual([]);
    const elsewhere = mine.downloadUrl.replace(`/exports/${mine.merchantId}/`, `/exports/${mine.merchantId + 1}/`);
    const answers = await Promise.all([elsewhere, mine.downloadUrl.slice(0, -1)].map(url => fetch(url)));
    expect(answers.map(({ status }) => status)).toEqual([404, 404]);
  });
});

const subscriptionsOf = async (of: Client) =>
  orThrow(await of.get('/merchant/subscription/list', { count: 100 })).subscriptions.map(
    ({ subscription }) => subscription,
  );
