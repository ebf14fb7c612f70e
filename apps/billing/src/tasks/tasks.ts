import { Controller, Inject } from '@nestjs/common';
import {
  type ExportTemplate,
  errors,
  exportKinds,
  type In,
  listTasks,
  type Task,
  taskStatus,
  taskType,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, CLOCK, type Clock, CONFIG, type Condition, Db, Handle } from '@recur/platform';
import type { Config } from '../config.js';
import { fileLink, memberOf } from './files.js';
import { type ExportTemplateRow, type TaskRow, taskRows } from './tables.js';

/** Exports and imports, and how they went. */
@Controller()
export class Tasks {
  constructor(
    private readonly db: Db,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Handle(listTasks)
  list({ page, count }: In<typeof listTasks>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const where: Condition[] = [['member_id = ?', memberOf(caller) || undefined]];
      const order = 'create_time desc, id desc';
      const { rows, total } = await reader.page({ from: taskRows, where, order, page, count });
      const now = Math.floor(this.clock.wall() / 1_000);
      return { downloads: rows.map(row => taskView(row, fileLink(this.config.BASE_URL, row, now))), total };
    });
  }
}

/** A task as the API shows it. */
export function taskView(task: TaskRow, downloadUrl: string): Task {
  const { id, merchantId, memberId, format, payload, status, startTime, finishTime, createTime } = task;
  return {
    id,
    merchantId,
    memberId,
    format,
    downloadUrl,
    startTime,
    finishTime,
    createTime,
    taskName: task.task,
    taskType: Object.hasOwn(exportKinds, task.task) ? taskType.download : taskType.upload,
    payload: JSON.stringify(payload),
    uploadFileUrl: '',
    status: taskStatus[status],
    lastUpdateTime: task.modifyTime,
    taskCost: finishTime === 0 ? 0 : finishTime - startTime,
    successCount: task.rows,
    failureReason: task.failureReason,
  };
}

export function exportTemplateView(template: ExportTemplateRow): ExportTemplate {
  const { id, merchantId, memberId, task, name, payload, columns, format, createTime } = template;
  return {
    templateId: id,
    exportColumns: columns,
    merchantId,
    memberId,
    task,
    name,
    payload,
    format,
    createTime,
  };
}

/** A fault that another attempt would meet too: its message ends the task. */
export class Lasting extends Error {}

/** Refusals that another attempt would meet too: by the list whose filters an export has. */
const lasting: readonly string[] = ['invalid_parameters', 'discount_not_found'];

/** Why a task ends; undefined where it is tried again. */
export function finalReason(error: unknown, isLastAttempt: boolean, otherwise: string): string | undefined {
  if (error instanceof Lasting) return error.message;
  if (error instanceof Rejected && lasting.includes(error.slug)) return refusalText(error);
  if (!isLastAttempt) return undefined;
  return error instanceof Rejected ? refusalText(error) : otherwise;
}

/** The message of a refusal, with what is wrong with each field. */
const refusalText = ({ slug, message, issues }: Rejected): string =>
  [message || errors[slug].message, ...issues.map(issue => issue.message)].join(': ');
