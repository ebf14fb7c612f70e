import { z } from 'zod';
import { taskStatus, taskType } from '../../codes.js';
import { anyObject, code, Empty, integer, type Shape, text, time } from '../../field.js';
import * as input from '../../input.js';
import { type Also, internal, operation } from '../../operation.js';
import { type ExportTask, exportKinds, exportTasks } from './exports.js';

export const exportFormats = ['xlsx', 'csv'] as const;

const task = z.object({
  ...{ id: integer, merchantId: integer, memberId: integer.describe('0 for a task of an API key') },
  ...{ taskName: text, taskType: code(taskType), format: text, payload: text.describe('JSON text') },
  downloadUrl: text.describe('Needs no credential and is good for 7 days; blank until the task is done'),
  ...{ uploadFileUrl: text, status: code(taskStatus) },
  ...{ startTime: time, finishTime: time, createTime: time, lastUpdateTime: time },
  taskCost: integer.describe('Seconds'),
  ...{ successCount: integer.describe('Rows so far'), failureReason: text },
});
export interface Task extends z.output<typeof task> {}
export const Task: Shape<Task> = task.meta({ id: 'Task' });

const exportTemplate = z.object({
  ...{ templateId: integer, merchantId: integer, memberId: integer, task: text, name: text, payload: anyObject },
  ...{ exportColumns: z.array(text), format: text, createTime: time },
});
export interface ExportTemplate extends z.output<typeof exportTemplate> {}
export const ExportTemplate: Shape<ExportTemplate> = exportTemplate.meta({ id: 'ExportTemplate' });

const base = { service: 'billing', permission: 'report.download' } as const;

const tasksWith = (permission: string) => exportTasks.filter(name => exportKinds[name].permission === permission);
/** An export shows what the list shows to those who may see it. */
const also: Also[] = [...new Set(exportTasks.map(name => exportKinds[name].permission))].map(permission => ({
  ...{ permission, by: ['task'], is: tasksWith(permission) },
}));

const kind = z.enum(exportTasks);
const columns = input.list(input.line, 100).describe('Names of export_column_list, in this order; absent or []: all');
const exported = {
  payload: input.anyObject
    .default({})
    .describe('Filters of the list of the same thing; timezone: an IANA zone in which times are written, default UTC'),
  exportColumns: columns.default([]),
  format: z.enum(exportFormats).default('xlsx'),
};

export const newExport = operation({
  ...base,
  also,
  name: 'task.new_export',
  methods: ['POST'],
  path: '/merchant/task/new_export',
  summary: 'Export a list to a file, newest rows first; task/list shows when it is done, and its link',
  effect: 'write',
  input: z.object({ task: kind, ...exported }),
  output: z.object({ task: Task }),
  errors: ['too_many_tasks'],
});

export const listTasks = operation({
  ...base,
  name: 'task.list',
  methods: ['GET', 'POST'],
  path: '/merchant/task/list',
  summary: 'Exports and imports, newest first: your own, or for an API key those of everybody',
  effect: 'read',
  input: input.paged(z.object(input.paging)),
  output: z.object({ downloads: z.array(Task), total: input.total }),
  errors: [],
});

export const listExportColumns = operation({
  ...base,
  name: 'task.export_columns',
  methods: ['POST'],
  path: '/merchant/task/export_column_list',
  summary: 'The columns of an export, all and by group',
  effect: 'read',
  input: z.object({ task: kind }),
  output: z.object({ columns: z.array(text), groupColumns: z.record(z.string(), z.array(text)) }),
  errors: [],
});

export const newExportTemplate = operation({
  ...base,
  name: 'task.new_export_template',
  methods: ['POST'],
  path: '/merchant/task/new_export_template',
  summary: 'Keep the settings of an export under a name',
  effect: 'write',
  input: z.object({ name: input.filled, task: kind, ...exported }),
  output: z.object({ template: ExportTemplate }),
  errors: ['too_many_templates'],
});

export const editExportTemplate = operation({
  ...base,
  name: 'task.edit_export_template',
  methods: ['POST'],
  path: '/merchant/task/edit_export_template',
  summary: 'Change the fields sent of a template of exports',
  effect: 'write',
  input: z.object({
    templateId: input.integer,
    name: input.filled.optional(),
    payload: input.anyObject.optional(),
    exportColumns: columns.optional(),
    format: z.enum(exportFormats).optional(),
  }),
  output: z.object({ template: ExportTemplate }),
  errors: ['template_not_found'],
});

export const deleteExportTemplate = operation({
  ...base,
  name: 'task.delete_export_template',
  methods: ['POST'],
  path: '/merchant/task/delete_export_template',
  summary: 'Delete a template of exports',
  effect: 'write',
  input: z.object({ templateId: input.integer }),
  output: Empty,
  errors: ['template_not_found'],
});

export const listExportTemplates = operation({
  ...base,
  name: 'task.export_template_list',
  methods: ['GET', 'POST'],
  path: '/merchant/task/export_template_list',
  summary: 'Templates of exports, newest first',
  effect: 'read',
  input: input.paged(z.object({ task: input.line.default(''), ...input.paging })),
  output: z.object({ templates: z.array(ExportTemplate), total: input.total }),
  errors: [],
});

/** Where the rows of an export go on; '' to begin. Each source has a form of its own. */
const position = z.string().max(500);
/** Cells of a row, in the order of the columns asked for: see ColumnKind. */
const cells = z.array(z.union([z.string(), z.number()]));

/** The next rows of an export; asked by billing of the service that has them. `next` is absent at the end. */
export const exportRows = internal({
  service: 'identity',
  name: 'platform.export_rows',
  amongServices: true,
  askedBy: ['billing'],
  input: z.object({
    task: z.custom<ExportTask>(value => exportTasks.includes(value as ExportTask)),
    payload: z.record(z.string(), z.unknown()),
    columns: z.array(z.string()),
    after: position,
    count: z.int().min(1).max(1_000),
  }),
  output: z.object({ rows: z.array(cells), next: position.optional() }),
});

/** A part of an exported file behind its signed link; asked by the gateway, which answers the bytes of all. */
export const fetchExport = internal({
  service: 'billing',
  name: 'platform.export_part',
  input: z.object({
    merchantId: z.int().min(1),
    taskId: z.int().min(1),
    signature: z.string().max(300),
    part: z.int().min(0),
  }),
  output: z.object({
    fileName: z.string(),
    bytes: z.int().describe('Of the whole file'),
    parts: z.int(),
    base64: z.string(),
  }),
});
