import { inflateRawSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { orThrow } from '@recur/client';
import { type ExportTask, exportColumns, exportTasks, type Task } from '@recur/contracts';
import { activePlan, newUser, order } from '../../shop.js';
import { type Stand, sharedStand, until } from '../stand.js';

/* Lists as files: asked for, written in the background, and fetched by their links. */

let stand: Stand;
let shop: Awaited<ReturnType<Stand['shop']>>;
const attack = '=HYPERLINK("http://evil.example";"Pay here")';

beforeAll(async () => {
  stand = await sharedStand();
  shop = await stand.shop('Ledger');
  const { api } = shop;
  const [userId, planId] = await Promise.all([newUser(api), activePlan(api)]);
  orThrow(await api.post('/merchant/user/update', { userId, firstName: attack }));
  for (let at = 0; at < 12; at++) {
    orThrow(
      await api.post('/merchant/invoice/new', {
        ...order(userId, planId, { finish: at % 2 === 0 }),
        name: `${attack} ${at}`,
      }),
    );
  }
});

const tasks = async (of = shop) => orThrow(await of.api.get('/merchant/task/list', { count: 100 })).downloads;

/** A task of an export when it has ended. */
async function ended(task: ExportTask, input: object = {}): Promise<Task> {
  const begun = orThrow(await shop.api.post('/merchant/task/new_export', { task, ...input }));
  const find = async () => (await tasks()).find(({ id }) => id === begun.task.id);
  const found = await until(find, one => one !== undefined && one.status >= 2);
  if (!found) throw new Error('the task is not listed');
  return found;
}

async function bytesAt({ downloadUrl }: Task): Promise<{ bytes: Buffer; headers: Headers }> {
  const response = await fetch(downloadUrl);
  expect(response.status).toBe(200);
  return { bytes: Buffer.from(await response.arrayBuffer()), headers: response.headers };
}

/** The last file of an archive, which is a workbook's sheet; its sizes stand in the directory's last entry. */
function sheetIn(bytes: Buffer): string {
  const name = Buffer.from('xl/worksheets/sheet1.xml');
  const entry = bytes.lastIndexOf(name) - 46;
  const [packed, offset] = [bytes.readUInt32LE(entry + 20), bytes.readUInt32LE(entry + 42)];
  const begin = offset + 30 + name.length;
  return inflateRawSync(bytes.subarray(begin, begin + packed)).toString();
}

describe('an export of invoices', () => {
  const exportColumns = ['InvoiceId', 'TotalAmount', 'Currency', 'InvoiceName', 'FirstName'];

  it('holds what the list shows, as csv and as xlsx, and no formula', async () => {
    const { invoices } = orThrow(await shop.api.get('/merchant/invoice/list', { count: 100 }));
    const csv = await ended('InvoiceExport', { format: 'csv', exportColumns });
    const { bytes, headers } = await bytesAt(csv);
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(headers.get('content-disposition')).toMatch(/^attachment; filename="invoices-\d{4}-\d\d-\d\d\.csv"$/);
    const quoted = (text: string) => `"'${text.replaceAll('"', '""')}"`;
    const lines = invoices.map(({ invoiceId, totalAmount, currency, invoiceName }) =>
      [invoiceId, totalAmount / 100, currency, quoted(invoiceName), quoted(attack)].join(','),
    );
    expect(bytes.toString()).toBe(`\uFEFF${[exportColumns.join(','), ...lines].join('\r\n')}\r\n`);

    const xlsx = await ended('InvoiceExport', { exportColumns });
    expect([xlsx.format, xlsx.successCount]).toEqual(['xlsx', invoices.length]);
    const sheet = sheetIn((await bytesAt(xlsx)).bytes);
    expect(sheet.match(/in_[0-9a-z]{26}/g)).toEqual(invoices.map(({ invoiceId }) => invoiceId));
    expect(sheet).not.toMatch(/<f[ >]/);
  });

  it('has a link that is for this file alone', async () => {
    const mine = await ended('InvoiceExport', { format: 'csv', exportColumns });
    const other = await stand.shop('Next ledger');
    const { merchantId } = mine;
    const elsewhere = mine.downloadUrl.replace(`/exports/${merchantId}/`, `/exports/${merchantId + 1}/`);
    for (const url of [
      elsewhere,
      mine.downloadUrl.slice(0, -1),
      mine.downloadUrl.replace(`/${mine.id}/`, `/${mine.id + 1}/`),
    ]) {
      const response = await fetch(url);
      expect([response.status, ((await response.json()) as { error: { type: string } }).error.type]).toEqual([
        404,
        'export_not_found',
      ]);
    }
    expect(await tasks(other)).toEqual([]);
  });
});

/** Exports of one discount: they are compared with their lists in billing's own tests. */
const ofDiscounts: readonly ExportTask[] = ['UserDiscountExport', 'BatchDiscountChildrenExport'];

it.each(exportTasks.filter(task => !ofDiscounts.includes(task)))('%s is written with all its columns', async task => {
  const payload = task === 'CreditTransactionExport' ? { accountType: 2 } : {};
  const done = await ended(task, { format: 'csv', payload });
  expect(done).toMatchObject({ status: 2, failureReason: '' });
  const [header] = (await bytesAt(done)).bytes.toString().slice(1).split('\r\n');
  expect(header?.split(',')).toEqual(Object.keys(exportColumns(task)));
});

it('of users and of the operation log comes from identity', async () => {
  const users = await ended('UserExport', { format: 'csv', exportColumns: ['FirstName', 'Status'] });
  expect((await bytesAt(users)).bytes.toString()).toContain('Pay here');
  const entries = await ended('OperationLogExport', { format: 'csv', exportColumns: ['Target', 'Content'] });
  const text = (await bytesAt(entries)).bytes.toString();
  expect(entries.successCount).toBeGreaterThan(12);
  expect(text).toMatch(/^Export\(\d+\),New: UserExport\r$/m);
});
