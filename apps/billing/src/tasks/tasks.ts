import { Controller, Inject } from '@nestjs/common';
import { type In, listTasks } from '@recur/contracts';
import { type Caller, CLOCK, type Clock, CONFIG, type Condition, Db, Handle } from '@recur/platform';
import type { Config } from '../config.js';
import { fileLink } from './links.js';
import { memberOf } from './members.js';
import { taskRows } from './tables.js';
import { taskView } from './views.js';

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
