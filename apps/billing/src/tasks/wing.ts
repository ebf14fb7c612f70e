import type { Wing } from '@recur/platform';
import { TaskDownloads } from './downloads.js';
import { ExportRequests, ExportTemplates } from './exports/requests.js';
import { ExportWriting } from './exports/writing.js';
import { FileThread, removing } from './files.js';
import { ImportRequests, ImportRunning } from './imports/running.js';
import { exportTemplates, taskParts, taskRows, taskUploads } from './tables.js';
import { Tasks } from './tasks.js';

/** Lists as files, and files as rows. */
export const tasksWing: Wing = {
  tables: [taskRows, taskParts, taskUploads, exportTemplates],
  controllers: [Tasks, ExportRequests, ExportTemplates, TaskDownloads, ImportRequests],
  providers: [FileThread, ExportWriting, ImportRunning],
  work: app => [...app.get(ExportWriting).works, app.get(ImportRunning).work, removing],
};
