import { type ExportTask, fetchExport, type In, listTasks, newExport, type Task, taskStatus } from '@recur/contracts';
import { ask } from '@recur/platform';
import type { TestCaller, TestService } from '@recur/platform/testing';
import { ExportWriting } from '../../../src/tasks/exports/writing.js';
import { filesHere } from '../thread.js';
import { csvRows, xlsxRows } from './files.js';

/** Small slices, pages and parts: a few rows take several of each. */
const small = { rows: 7, page: 3, partBytes: 600 };

/** Exports of a service. */
export function exportDesk(t: TestService, caller: TestCaller = {}) {
  filesHere(t);
  const writing = t.app.get(ExportWriting);
  const { limits } = writing as unknown as { limits: object };
  const limit = (over: object) => Object.assign(writing, { limits: { ...limits, ...small, ...over } });
  limit({});

  const start = async (task: ExportTask, input: Partial<In<typeof newExport>> = {}, as = caller) =>
    (await t.done(newExport, { task, ...input }, as)).task;
  const shown = async (id: number, as = caller): Promise<Task> => {
    const { downloads } = await t.done(listTasks, { count: 1_000 }, as);
    const found = downloads.find(one => one.id === id);
    if (!found) throw new Error(`task ${id} is not listed`);
    return found;
  };
  /** The bytes behind a link, as the gateway asks for them. */
  const fetched = async (link: ReturnType<typeof linked>): Promise<Buffer> => {
    const parts: Buffer[] = [];
    for (let part = 0, all = 1; part < all; part++) {
      const answer = await ask(t.bus, fetchExport, { ...link, part }, t.callerOf({ merchantId: 0 }));
      all = answer.parts;
      parts.push(Buffer.from(answer.base64, 'base64'));
    }
    return Buffer.concat(parts);
  };
  const whole = async (id: number) => {
    const task = await shown(id);
    if (task.status !== taskStatus.done) throw new Error(`the export ended: ${JSON.stringify(task)}`);
    return fetched(linked(task));
  };
  return {
    start,
    shown,
    fetched,
    limit,
    writing,
    /** The rows of an export as CSV, by the names of its columns. */
    async exported(task: ExportTask, payload: object = {}, exportColumns: string[] = []) {
      const { id } = await start(task, { format: 'csv', payload: { ...payload }, exportColumns });
      await t.work.drain();
      return byColumn(csvRows(await whole(id)));
    },
    /** The rows of a task that is done. */
    rowsOf: async (id: number) => {
      const bytes = await whole(id);
      return byColumn((await shown(id)).format === 'csv' ? csvRows(bytes) : xlsxRows(bytes));
    },
  };
}

/** The question to billing that a link stands for. */
export function linked({ downloadUrl }: Pick<Task, 'downloadUrl'>) {
  const [merchantId, taskId, signature = ''] = downloadUrl.split('/exports/')[1]?.split('/') ?? [];
  return { merchantId: Number(merchantId), taskId: Number(taskId), signature };
}

function byColumn<C>([header = [], ...rows]: C[][]): Record<string, C>[] {
  return rows.map(row => Object.fromEntries(header.map((name, at) => [String(name), row[at] as C])));
}
