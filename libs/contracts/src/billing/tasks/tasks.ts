import { z } from 'zod';
import { taskStatus, taskType } from '../../codes.js';
import { anyObject, code, Empty, integer, type Shape, text, time } from '../../field.js';
import * as input from '../../input.js';
import { type Also, internal, operation } from '../../operation.js';
import { exportKinds } from './export-kinds.js';
import { type ExportTask, exportTasks } from './exports.js';
import { type ImportRow, importKinds, importLimits, importNames, taskOfImport } from './imports.js';

export const exportFormats = ['xlsx', 'csv'] as const;

const task = z.object({
  id: integer,
  merchantId: integer,
  memberId: integer.describe('0 for a task of an API key'),
  taskName: text,
  taskType: code(taskType),
  format: text,
  payload: text.describe('JSON text'),
  downloadUrl: text.describe('Needs no credential and is good for 7 days; blank until the task is done'),
  uploadFileUrl: text.describe('Blank: the file of an import at downloadUrl has the rows that were sent'),
  status: code(taskStatus),
  startTime: time,
  finishTime: time,
  createTime: time,
  lastUpdateTime: time,
  taskCost: integer.describe('Seconds'),
  successCount: integer.describe('Rows so far'),
  failureReason: text,
});
export interface Task extends z.output<typeof task> {}
export const Task: Shape<Task> = task.meta({ id: 'Task' });

const exportTemplate = z.object({
  templateId: integer,
  merchantId: integer,
  memberId: integer,
  task: text,
  name: text,
  payload: anyObject,
  exportColumns: z.array(text),
  format: text,
  createTime: time,
});
export interface ExportTemplate extends z.output<typeof exportTemplate> {}
export const ExportTemplate: Shape<ExportTemplate> = exportTemplate.meta({ id: 'ExportTemplate' });

const base = { service: 'billing', permission: 'report.download' } as const;

const tasksWith = (permission: string) => exportTasks.filter(name => exportKinds[name].permission === permission);
/** An export shows what the list shows to those who may see it. */
const also: Also[] = [...new Set(exportTasks.map(name => exportKinds[name].permission))].map(permission => ({
  permission,
  by: ['task'],
  is: tasksWith(permission),
}));

const base64File = input.rule(
  z.string().max(1_400_000),
  'must be base64 of a file that is not empty',
  value => value !== '' && /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value),
);

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

/** An import writes what the operations for single ones write, for those who may. */
const alsoWrites: Also[] = [...new Set(Object.values(importKinds).map(({ permission }) => permission))].map(
  permission => ({
    permission,
    by: ['task'],
    is: importNames.filter(name => importKinds[taskOfImport(name)].permission === permission),
  }),
);

export const newImport = operation({
  ...base,
  permission: 'report.write',
  also: alsoWrites,
  name: 'task.new_import',
  methods: ['POST'],
  path: '/merchant/task/new_import',
  summary: `Take a file of users or subscriptions, all rows or none: csv or xlsx, at most ${importLimits.rows} rows and 1 MiB`,
  effect: 'write',
  multipart: 'file',
  input: z.object({
    task: z.enum(importNames).describe('With the suffix :dry nothing is changed: the result tells what would be done'),
    file: z
      .object({ name: input.line.default(''), base64: base64File })
      .meta({ 'x-shape': 'ImportFile' })
      .describe('A csv or an xlsx file whose first row names the columns; in JSON its name, and its bytes in base64'),
  }),
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

/** A fault of a row of an import: `row` as the file counts them, from 2 on, `column` '' where no single one is at fault. */
export interface RowIssue {
  row: number;
  column: string;
  message: string;
}

/**
 * Takes users, all or none; asked by billing, which has read the file. Those who are there already are updated by the
 * fields that are given, so that asking twice changes nothing more. `dry` changes nothing.
 */
export const importUsers = internal({
  service: 'identity',
  name: 'platform.import_users',
  amongServices: true,
  askedBy: ['billing'],
  input: z.object({
    task: z.int(),
    dry: z.boolean(),
    rows: z
      .array(
        z.object({
          row: z.int(),
          fields: z.custom<ImportRow<'UserImport'>>(value => typeof value === 'object' && value !== null),
        }),
      )
      .max(importLimits.rows),
  }),
  output: z.object({
    issues: z.array(z.object({ row: z.int(), column: z.string(), message: z.string() })),
    results: z.array(z.object({ row: z.int(), userId: z.int(), isNew: z.boolean() })),
  }),
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
