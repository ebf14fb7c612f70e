import type { ExportTask, exportFormats, ImportName, taskStatus } from '@recur/contracts';
import { document, int, integer, table, text, texts } from '@recur/platform';

export type FileFormat = (typeof exportFormats)[number];

/** A list that is written to a file, or a file that is taken. Times are on the machine's clock. */
export interface TaskRow {
  merchantId: number;
  id: number;
  /** 0 for a task of an API key. */
  memberId: number;
  task: ExportTask | ImportName;
  format: FileFormat;
  payload: Record<string, unknown>;
  /** Names of its columns, in order; none for an import. */
  columns: string[];
  status: keyof typeof taskStatus;
  /** Where the rows of an export go on; '' to begin. */
  position: string;
  /** Rows that are written, or were taken. */
  rows: number;
  /** Parts of the file, numbered from 0, and their bytes. */
  parts: number;
  bytes: number;
  /** Checksum and size of what is compressed in the file. */
  crc: number;
  rawBytes: number;
  failureReason: string;
  /** Signs its links. */
  linkKey: string;
  createTime: number;
  startTime: number;
  finishTime: number;
  modifyTime: number;
}

/** Bytes of a file, in order of `part`. */
export interface TaskPart {
  merchantId: number;
  taskId: number;
  part: number;
  content: Buffer;
}

export interface ExportTemplateRow {
  merchantId: number;
  id: number;
  /** The member who made it; 0 for an API key. */
  memberId: number;
  task: ExportTask;
  name: string;
  payload: Record<string, unknown>;
  /** None: all. */
  columns: string[];
  format: FileFormat;
  createTime: number;
}

export const taskRows = table<TaskRow>('tasks', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    memberId: integer(),
    task: text<TaskRow['task']>(),
    format: text<FileFormat>(),
    payload: document(),
    columns: texts(),
    status: text<TaskRow['status']>(),
    // the platform's page reads have columns `bytes` and `rows` of their own

    position: text(),
    rows: { ...integer(), name: 'row_count' },
    parts: int(),
    bytes: { ...integer(), name: 'file_bytes' },
    crc: integer(),
    rawBytes: integer(),
    failureReason: text(),
    linkKey: text(),
    createTime: integer(),
    startTime: integer(),
    finishTime: integer(),
    modifyTime: integer(),
  },
  checks: { tasks_status: `status in ('queued', 'running', 'done', 'failed')` },
  indices: {
    tasks_newest: { on: ['merchantId', 'createTime', 'id'] },
    tasks_member: { on: ['merchantId', 'memberId', 'createTime', 'id'] },
    tasks_open: { on: ['merchantId'], where: `status in ('queued', 'running')` },
  },
});

export const taskParts = table<TaskPart>('task_parts', {
  key: ['merchantId', 'taskId', 'part'],
  columns: { merchantId: integer(), taskId: integer(), part: int(), content: { type: 'bytea' } },
});

/** The file that is to be taken, until it is. */
export interface TaskUpload {
  merchantId: number;
  taskId: number;
  content: Buffer;
}

export const taskUploads = table<TaskUpload>('task_uploads', {
  key: ['merchantId', 'taskId'],
  columns: { merchantId: integer(), taskId: integer(), content: { type: 'bytea' } },
});

export const exportTemplates = table<ExportTemplateRow>('export_templates', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    memberId: integer(),
    task: text<ExportTask>(),
    name: text(),
    payload: document(),
    columns: texts(),
    format: text<FileFormat>(),
    createTime: integer(),
  },
  indices: { export_templates_newest: { on: ['merchantId', 'createTime', 'id'] } },
});
