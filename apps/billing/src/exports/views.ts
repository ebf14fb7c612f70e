import { type ExportTemplate, type Task, taskStatus, taskType } from '@recur/contracts';
import type { ExportTaskRow, ExportTemplateRow } from './tables.js';

/** A task as the API shows it. */
export function taskView(task: ExportTaskRow, downloadUrl: string): Task {
  const { id, merchantId, memberId, format, payload, status, startTime, finishTime, createTime } = task;
  return {
    ...{ id, merchantId, memberId, format, downloadUrl, startTime, finishTime, createTime },
    taskName: task.task,
    taskType: taskType.download,
    payload: JSON.stringify(payload),
    uploadFileUrl: '',
    status: taskStatus[status],
    lastUpdateTime: task.modifyTime,
    taskCost: finishTime === 0 ? 0 : finishTime - startTime,
    successCount: task.rows,
    failureReason: task.failureReason,
  };
}

export function templateView(template: ExportTemplateRow): ExportTemplate {
  const { id, merchantId, memberId, task, name, payload, columns, format, createTime } = template;
  return {
    templateId: id,
    exportColumns: columns,
    ...{ merchantId, memberId, task, name, payload, format, createTime },
  };
}
