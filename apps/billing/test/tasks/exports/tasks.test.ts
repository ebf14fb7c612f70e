import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  deleteExportTemplate,
  editExportTemplate,
  exportColumns,
  exportTasks,
  type In,
  listExportColumns,
  listExportTemplates,
  listTasks,
  newExport,
  newExportTemplate,
  type Task,
  taskStatus,
} from '@recur/contracts';
import type { WorkItem } from '@recur/platform';
import { type Shop, shop } from '../../world/shop.js';
import { exportDesk, linked } from './desk.js';

let s: Shop;
let desk: ReturnType<typeof exportDesk>;
const member = (id: number) => ({ actor: { kind: 'member', id: String(id), display: `m${id}@example.com` } }) as const;

beforeAll(async () => {
  s = await shop();
  desk = exportDesk(s.t);
  for (let at = 0; at < 20; at++) {
    await s.made({ finish: at % 2 === 0 });
    s.clock.advance(60);
  }
});
afterAll(() => s.t.close());

const ids = (rows: readonly Record<string, unknown>[]) => rows.map(({ InvoiceId }) => InvoiceId);
const listedIds = async () =>
  (await s.t.rows('select invoice_id from invoices where merchant_id = 15 order by create_time desc, id desc')).map(
    row => row.invoice_id,
  );

describe('an export', () => {
  it('is queued, and then done, with a link and its rows counted', async () => {
    const task = await desk.start('InvoiceExport', { payload: { currency: 'eur' } });
    expect(task).toMatchObject({
      merchantId: 15,
      memberId: 0,
      taskName: 'InvoiceExport',
      taskType: 0,
      format: 'xlsx',
      status: taskStatus.queued,
      payload: '{"currency":"eur"}',
      downloadUrl: '',
      startTime: 0,
      finishTime: 0,
      successCount: 0,
    });
    await s.drain();
    const done = await desk.shown(task.id);
    expect(done).toMatchObject({ status: taskStatus.done, successCount: 20, failureReason: '', taskCost: 0 });
    expect(done.finishTime).toBe(s.clock.now());
    expect(ids(await desk.rowsOf(task.id))).toEqual(await listedIds());
  });

  it('has each row once, whatever is written meanwhile, and whoever is killed in the middle of it', async () => {
    const { id } = await desk.start('InvoiceExport', { format: 'csv' });
    const before = await listedIds();
    const work = desk.writing.works[0];
    const item: WorkItem = {
      merchantId: 15,
      kind: 'task.export',
      key: String(id),
      dueAt: 0,
      attempt: 1,
      requestId: 'work',
    };
    // two workers have made the same slice: one of them keeps it
    const [one, other] = [await work?.prepare([item]), await work?.prepare([item])];
    const killed = s.t.db.apply(s.t.callerOf(), async tx => {
      await one?.(tx);
      throw new Error('killed');
    });
    await expect(killed).rejects.toThrow('killed');
    await s.t.db.apply(s.t.callerOf(), async tx => one?.(tx));
    await s.t.db.apply(s.t.callerOf(), async tx => other?.(tx));
    expect(await desk.shown(id)).toMatchObject({ status: taskStatus.running, successCount: 7, downloadUrl: '' });
    s.clock.advance(60);
    await s.made();
    await s.drain();
    expect(ids(await desk.rowsOf(id))).toEqual(before);
  });

  it('writes the columns that are asked for, in their order, with times in the zone', async () => {
    const payload = { timezone: 'Asia/Tokyo' };
    const [row] = await desk.exported('InvoiceExport', payload, ['TotalAmount', 'CreateTime', 'Currency']);
    expect(row && Object.keys(row)).toEqual(['TotalAmount', 'CreateTime', 'Currency']);
    const [newest] = await s.t.rows('select max(create_time) as at from invoices where merchant_id = 15');
    const local = new Date((Number(newest?.at) + 9 * 3_600) * 1_000).toISOString();
    expect(row).toEqual({ TotalAmount: '70.33', Currency: 'EUR', CreateTime: local.slice(0, 19).replace('T', ' ') });
  });

  it('names every filter, zone and column that it does not have', async () => {
    const wrong = async (input: object) => {
      const answer = await s.t.call(newExport, { task: 'InvoiceExport', ...input });
      return answer.ok ? answer : [answer.slug, answer.issues.map(({ path }) => path)];
    };
    const refused = (...paths: string[]) => ['invalid_parameters', paths];
    expect(await wrong({ payload: { Status: [3], staus: [3] } })).toEqual(refused('/payload/staus'));
    expect(await wrong({ payload: { userId: 'x' } })).toEqual(refused('/payload/userId'));
    expect(await wrong({ payload: { timezone: 'Mars/Base' } })).toEqual(refused('/payload/timezone'));
    expect(await wrong({ exportColumns: ['InvoiceId', 'Status', 'InvoiceId', 'Sum', 'constructor'] })).toEqual(
      refused('/exportColumns/2', '/exportColumns/3', '/exportColumns/4'),
    );
    expect(await wrong({ task: 'UserDiscountExport' })).toEqual(refused('/payload/id'));
    expect(await wrong({ task: 'CreditTransactionExport', payload: { accountType: 9 } })).toEqual(
      refused('/payload/accountType'),
    );
    expect(
      await wrong({ payload: { page: 3, count: 0, sortField: 'x', sortType: 'asc', timezone: '' } }),
    ).toMatchObject({
      ok: true,
    });
    await s.drain();
  });

  it('ends without a file, and says why, where its list would refuse', async () => {
    const { id } = await desk.start('UserDiscountExport', { payload: { id: 999 } });
    await s.drain();
    expect(await desk.shown(id)).toMatchObject({
      status: taskStatus.failed,
      downloadUrl: '',
      failureReason: 'No such discount',
    });
  });

  it('ends without a file where it cannot be written, after the last attempt and no sooner', async () => {
    const task = await desk.start('UserExport', { format: 'csv' });
    const back = s.away('identity');
    const [work] = desk.writing.works;
    const item = (attempt: number): WorkItem => ({
      merchantId: 15,
      kind: 'task.export',
      key: String(task.id),
      dueAt: 0,
      attempt,
      requestId: 'work',
    });
    await expect(work?.prepare([item(7)])).rejects.toThrow('identity');
    const last = await work?.prepare([item(8)]);
    back();
    await s.t.db.apply(s.t.callerOf(), async tx => last?.(tx));
    const failed = await desk.shown(task.id);
    expect(failed).toMatchObject({ status: taskStatus.failed, downloadUrl: '' });
    expect(failed.failureReason).toContain('identity');
    await s.drain();
  });

  it('ends without a file where it ended its worker each time', async () => {
    const { id } = await desk.start('InvoiceExport');
    const killed = { merchantId: 15, kind: 'task.export', key: String(id), dueAt: 0, attempt: 9, requestId: 'work' };
    const end = await desk.writing.works[0]?.prepare([killed]);
    await s.t.db.apply(s.t.callerOf(), async tx => end?.(tx));
    expect(await desk.shown(id)).toMatchObject({ status: taskStatus.failed, successCount: 0 });
    await s.drain();
  });

  it('tells to use csv where a sheet is too small, and keeps nothing of it', async () => {
    const { id } = await desk.start('InvoiceExport');
    await s.t.rows('update tasks set row_count = 1048570 where id = $1', [id]);
    await s.drain();
    expect(await desk.shown(id)).toMatchObject({
      status: taskStatus.failed,
      failureReason: expect.stringContaining('export as csv'),
    });
    expect(await s.t.rows('select 1 from task_parts where task_id = $1', [id])).toEqual([]);
  });

  it('is refused while 20 are not done, also when many are asked for at once', async () => {
    const asked = await Promise.all(Array.from({ length: 64 }, () => s.t.call(newExport, { task: 'InvoiceExport' })));
    const refused = asked.flatMap(answer => (answer.ok ? [] : [answer.slug]));
    expect([asked.length - refused.length, new Set(refused)]).toEqual([20, new Set(['too_many_tasks'])]);
    await s.drain();
    expect(await s.t.call(newExport, { task: 'InvoiceExport' })).toMatchObject({ ok: true });
    await s.drain();
  });
});

describe('a link', () => {
  const fetch = (link: ReturnType<typeof linked>) => desk.fetched(link).then(String, error => error.slug);
  let task: Task;
  beforeAll(async () => {
    const { id } = await desk.start('InvoiceExport', { format: 'csv' });
    await s.drain();
    task = await desk.shown(id);
  });

  it('opens the file of its task, and nothing else', async () => {
    const link = linked(task);
    const [until = '', key = ''] = link.signature.split('.');
    expect(await fetch(link)).toContain('InvoiceId');
    expect(Number(until)).toBe(task.finishTime + 7 * 86_400);
    const wrong = [
      { ...link, merchantId: 16 },
      { ...link, taskId: link.taskId - 1 },
      { ...link, taskId: 999_999 },
      ...[`${Number(until) + 1}.${key}`, `${until}.${key.slice(1)}`, `${until}.`, until].map(signature => ({
        ...link,
        signature,
      })),
    ];
    expect(await Promise.all(wrong.map(fetch))).toEqual(wrong.map(() => 'export_not_found'));
  });

  it('is over after 7 days, and the file is removed a day later', async () => {
    const link = linked(task);
    s.clock.advance(7 * 86_400 - 1);
    expect(await fetch(link)).toContain('InvoiceId');
    s.clock.advance(1);
    expect(await fetch(link)).toBe('export_not_found');
    expect(await desk.shown(task.id)).toMatchObject({ status: taskStatus.done, downloadUrl: '' });
    const kept = () => s.t.rows('select 1 from task_parts where task_id = $1', [task.id]);
    await s.drain();
    expect(await kept()).not.toEqual([]);
    s.clock.advance(86_400);
    await s.drain();
    expect(await kept()).toEqual([]);
    expect(await desk.shown(task.id)).toMatchObject({ status: taskStatus.done, downloadUrl: '' });
  });
});

describe('the list of tasks', () => {
  it("shows members their own, an API key all, and nobody another merchant's", async () => {
    const [one, other] = [
      await desk.start('DiscountExport', {}, member(7)),
      await desk.start('DiscountExport', {}, member(8)),
    ];
    await s.drain();
    const listed = async (caller: object) =>
      (await s.t.done(listTasks, { count: 1_000 }, caller)).downloads.map(({ id }) => id);
    expect(one.memberId).toBe(7);
    expect([await listed(member(7)), await listed(member(8))]).toEqual([[one.id], [other.id]]);
    expect((await listed({})).slice(0, 2)).toEqual([other.id, one.id]);
    expect(await listed({ merchantId: 16 })).toEqual([]);
  });
});

it.each(exportTasks)('%s has columns in groups, each of them once', async task => {
  const { columns, groupColumns } = await s.t.done(listExportColumns, { task });
  expect(Object.values(groupColumns).flat()).toEqual(columns);
  expect(columns).toEqual(Object.keys(exportColumns(task)));
  expect(new Set(columns).size).toBe(columns.length);
});

describe('templates', () => {
  const settings: In<typeof newExportTemplate> = {
    name: 'Open ones',
    task: 'InvoiceExport',
    payload: { status: [2] },
    exportColumns: ['InvoiceId'],
    format: 'csv',
  };

  it('are kept, changed, listed and deleted', async () => {
    const { template } = await s.t.done(newExportTemplate, settings, member(7));
    expect(template).toMatchObject({ ...settings, memberId: 7, merchantId: 15 });
    const { templateId } = template;
    const edited = await s.t.done(editExportTemplate, { templateId, name: 'All', payload: {} }, member(8));
    expect(edited.template).toEqual({ ...template, name: 'All', payload: {} });
    const list = async (task: string, caller = {}) => (await s.t.done(listExportTemplates, { task }, caller)).templates;
    expect(await list('')).toEqual([edited.template]);
    expect([await list('UserExport'), await list('', { merchantId: 16 })]).toEqual([[], []]);
    expect(await s.t.call(deleteExportTemplate, { templateId }, { merchantId: 16 })).toMatchObject({
      slug: 'template_not_found',
    });
    await s.t.done(deleteExportTemplate, { templateId });
    for (const operation of [deleteExportTemplate, editExportTemplate]) {
      expect(await s.t.call(operation, { templateId })).toMatchObject({ slug: 'template_not_found' });
    }
  });

  it('are what can be exported', async () => {
    expect(await s.t.call(newExportTemplate, { ...settings, payload: { x: 1 } })).toMatchObject({
      issues: [{ path: '/payload/x' }],
    });
    const { template } = await s.t.done(newExportTemplate, settings);
    const edit = { templateId: template.templateId, exportColumns: ['X'] };
    expect(await s.t.call(editExportTemplate, edit)).toMatchObject({ issues: [{ path: '/exportColumns/0' }] });
  });

  it('are at most a thousand', async () => {
    await s.t.rows(`insert into export_templates select 15, 1000 + i, 0, 'InvoiceExport', 'x', '{}', '{}', 'csv', 1
      from generate_series(1, 999) i`);
    expect(await s.t.call(newExportTemplate, settings)).toMatchObject({ slug: 'too_many_templates' });
  });
});
