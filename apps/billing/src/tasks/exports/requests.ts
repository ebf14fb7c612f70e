import { Controller, Inject } from '@nestjs/common';
import {
  deleteExportTemplate,
  editExportTemplate,
  exportColumns,
  exportKinds,
  type In,
  listExportColumns,
  listExportTemplates,
  newExport,
  newExportTemplate,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, CLOCK, type Clock, type Condition, Db, given, Handle } from '@recur/platform';
import { openTask } from '../downloads.js';
import { memberOf } from '../files.js';
import { exportTemplates } from '../tables.js';
import { exportTemplateView, taskView } from '../tasks.js';
import { assertExportable } from './sources.js';
import { EXPORT_WORK } from './writing.js';

const limits = { templates: 1_000 } as const;

const countText = 'select count(*)::integer as count from export_templates where merchant_id = $1';
const deleteText = 'delete from export_templates where merchant_id = $1 and id = $2';

/** Settings of exports that a merchant keeps under names. */
@Controller()
export class ExportTemplates {
  constructor(private readonly db: Db) {}

  @Handle(newExportTemplate)
  add(input: In<typeof newExportTemplate>, caller: Caller) {
    assertExportable(input);
    return this.db.write(caller, async tx => {
      // requests of the same moment are counted one after the other
      await tx.lockName(`export_templates ${tx.merchantId}`);
      const [row] = await tx.query(countText, [tx.merchantId]);
      if (Number(row?.count) >= limits.templates) throw new Rejected('too_many_templates');
      const { name, task, payload, exportColumns: columns, format } = input;
      const template = {
        merchantId: tx.merchantId,
        id: await tx.nextId(exportTemplates),
        memberId: memberOf(caller),
        task,
        name,
        payload,
        columns,
        format,
        createTime: tx.now,
      };
      tx.save(exportTemplates, template);
      tx.log(`ExportTemplate(${template.id})`, 'New');
      return { template: exportTemplateView(template) };
    });
  }

  @Handle(editExportTemplate)
  edit(input: In<typeof editExportTemplate>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const kept = await tx.lock(exportTemplates, { id: input.templateId }, 'template_not_found');
      const { name = kept.name, payload = kept.payload, format = kept.format } = input;
      const { exportColumns: columns = kept.columns } = input;
      assertExportable({ task: kept.task, payload, exportColumns: columns });
      const template = { ...kept, name, payload, columns, format };
      tx.save(exportTemplates, template);
      tx.log(`ExportTemplate(${kept.id})`, 'Edit');
      return { template: exportTemplateView(template) };
    });
  }

  @Handle(deleteExportTemplate)
  remove({ templateId }: In<typeof deleteExportTemplate>, caller: Caller) {
    return this.db.write(caller, async tx => {
      await tx.lock(exportTemplates, { id: templateId }, 'template_not_found');
      await tx.run(deleteText, [tx.merchantId, templateId]);
      tx.log(`ExportTemplate(${templateId})`, 'Delete');
      return {};
    });
  }

  @Handle(listExportTemplates)
  list({ task, page, count }: In<typeof listExportTemplates>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const where: Condition[] = [['task = ?', given(task)]];
      const order = 'create_time desc, id desc';
      const { rows, total } = await reader.page({ from: exportTemplates, where, order, page, count });
      return { templates: rows.map(exportTemplateView), total };
    });
  }
}

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
