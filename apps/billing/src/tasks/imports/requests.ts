import { Controller, Inject } from '@nestjs/common';
import { type In, newImport } from '@recur/contracts';
import { type Caller, CLOCK, type Clock, Db, Handle } from '@recur/platform';
import { keepUpload } from '../files.js';
import { openTask } from '../opened.js';
import { taskView } from '../views.js';
import { IMPORT_WORK } from './running.js';

/** Imports as they are asked for: the file is kept, and taken by due work. */
@Controller()
export class ImportRequests {
  constructor(
    private readonly db: Db,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Handle(newImport)
  add({ task, file }: In<typeof newImport>, caller: Caller) {
    const content = Buffer.from(file.base64, 'base64');
    const format = content.subarray(0, 2).toString('latin1') === 'PK' ? 'xlsx' : 'csv';
    const now = Math.floor(this.clock.wall() / 1_000);
    return this.db.write(caller, async tx => {
      const payload = { fileName: file.name };
      const opened = await openTask(tx, caller, { task, format, payload, columns: [], now });
      await keepUpload(tx, opened.id, content);
      tx.schedule(IMPORT_WORK, String(opened.id), now);
      tx.log(`Import(${opened.id})`, `New: ${task}`);
      return { task: taskView(opened, '') };
    });
  }
}
