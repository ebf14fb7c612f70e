import type { Tx, WorkItem, WorkOptions } from '../src/index.js';
import { systemCaller, work } from '../src/index.js';
import { MovableClock, type TestService, testService } from '../src/testing/index.js';
import { sample, thingAggregate } from './sample.js';

/** A service with two kinds of work, whose behaviour and memory a test holds. */
export async function workshop(options: Partial<WorkOptions> & { env?: Record<string, string> } = {}) {
  const { env = {}, ...given } = options;
  const clock = new MovableClock();
  const done: WorkItem[] = [];
  const batches: WorkItem[][] = [];
  const behaviour: { act: (tx: Tx, items: readonly WorkItem[]) => Promise<void> } = { act: async () => undefined };
  const run = async (tx: Tx, items: readonly WorkItem[]) => {
    batches.push([...items]);
    await behaviour.act(tx, items);
    done.push(...items);
  };
  const wilt = work('thing.wilt', { time: 'merchant', ...given }, run);
  const sweep = work('thing.sweep', { time: 'machine', ...given }, run);
  const definition = { ...sample, work: () => [wilt, sweep] };
  const t: TestService = await testService(definition, { clock, env });
  const now = () => clock.now();
  return {
    t,
    clock,
    wilt,
    done,
    batches,
    behaviour,
    now,
    /** Makes things grow under their items' own request ids; what a real kind of work does. */
    grow: async (tx: Tx, items: readonly WorkItem[]) => {
      for (const item of items) {
        const own = tx.item(item);
        const thing = await own.lock(thingAggregate, Number(item.key), 'unknown_path');
        own.step(thingAggregate, { ...thing, size: thing.size + 1n }, 'thing.grown', { log: 'Wilt' });
      }
    },
    schedule: (key: string, at: number, { merchantId = 15, kind = 'thing.wilt' } = {}) =>
      t.db.apply(systemCaller(merchantId, 'test', Number.POSITIVE_INFINITY), async tx => tx.schedule(kind, key, at)),
    rows: (columns = 'key') =>
      t.rows(
        `select ${columns} from due_work ${columns.includes('count') ? '' : 'order by kind, merchant_id, due_at, key'}`,
      ),
    /** `count` items from second `from` on, one each second. */
    fill: (count: number, from: number, { merchantId = 15, kind = 'thing.wilt' } = {}) =>
      t.rows(`insert into due_work select $1, $2, lpad(n::text, 6, '0'), $3 + n, 0 from generate_series(0, $4 - 1) n`, [
        merchantId,
        kind,
        from,
        count,
      ]),
    forget: () => {
      done.length = 0;
      batches.length = 0;
      behaviour.act = async () => undefined;
    },
  };
}

export type Workshop = Awaited<ReturnType<typeof workshop>>;

/** Resolves `opened` when it is opened, so that a test knows how far something is, or holds it up. */
export function gate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>(resolve => {
    open = resolve;
  });
  return { open, opened };
}
