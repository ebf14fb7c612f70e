import { type ExportTemplate, exportKinds, type Task, taskStatus, taskType } from '@recur/contracts';
import type { ExportTemplateRow, TaskRow } from './tables.js';

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

export function templateView(template: ExportTemplateRow): ExportTemplate {
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
