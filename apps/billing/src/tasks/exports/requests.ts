import { Controller, Inject } from '@nestjs/common';
import { exportColumns, exportKinds, type In, listExportColumns, newExport } from '@recur/contracts';
import { type Caller, CLOCK, type Clock, Db, Handle } from '@recur/platform';
import { openTask } from '../opened.js';
import { taskView } from '../views.js';
import { assertExportable } from './settings.js';
import { EXPORT_WORK } from './writing.js';

/** Exports as they are asked for. */
@Controller()
export class ExportRequests {
  constructor(
    private readonly db: Db,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Handle(newExport)
  add(input: In<typeof newExport>, caller: Caller) {
    assertExportable(input);
    const { task, format, payload, exportColumns: asked } = input;
    const columns = asked.length > 0 ? asked : Object.keys(exportColumns(task));
    const now = Math.floor(this.clock.wall() / 1_000);
    return this.db.write(caller, async tx => {
      const opened = await openTask(tx, caller, { task, format, payload, columns, now });
      tx.schedule(EXPORT_WORK, String(opened.id), now);
      tx.log(`Export(${opened.id})`, `New: ${task}`);
      return { task: taskView(opened, '') };
    });
  }

  @Handle(listExportColumns)
  columns({ task }: In<typeof listExportColumns>) {
    const groups = Object.entries(exportKinds[task].groups);
    return Promise.resolve({
      columns: Object.keys(exportColumns(task)),
      groupColumns: Object.fromEntries(groups.map(([group, columns]) => [group, Object.keys(columns)])),
    });
  }
}
