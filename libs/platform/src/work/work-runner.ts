import { workItems } from '../runtime/telemetry.js';
import { DueTargets, type Target } from './due-targets.js';
import { claim, fail, type Lease, type LeaseParts, release } from './lease.js';
import { LeaseLost, perform } from './perform.js';
import { PeriodicTask } from './periodic-task.js';
import { resumeText } from './statements.js';
import type { Work, WorkItem } from './work.js';

/** `batches`: the most that a replica does at once, of all kinds; commands need connections too. */
const limits = { everyMs: 1_000, batches: 4, parkedEveryMs: 60_000 } as const;

/** A target that is waiting or under way; `again`: something became due meanwhile. */
interface Entry extends Target {
  running: boolean;
  again: boolean;
}

/**
 * Does a service's work when it falls due. Any number of replicas work side by side: a batch of one merchant's items is
 * leased, done in one transaction and taken off the schedule by it. Merchants take turns, a batch each, and a kind may
 * use only some of the places, so a long queue or a slow kind delays no other.
 */
export class WorkRunner {
  private readonly works: ReadonlyMap<string, Work>;
  private readonly targets: DueTargets;
  private readonly entries = new Map<string, Entry>();
  private readonly idlers: (() => void)[] = [];
  private readonly poll: PeriodicTask;
  private readonly parked: PeriodicTask;

  constructor(
    private readonly parts: LeaseParts,
    works: readonly Work[],
  ) {
    this.works = new Map(works.map(each => [each.kind, each]));
    if (this.works.size < works.length) throw new Error('two declarations of one kind of work');
    this.targets = new DueTargets(parts.db, this.works, parts.clocksMove);
    const failed = (error: unknown) => parts.log.warn({ err: error }, 'work that is due could not be looked for');
    this.poll = new PeriodicTask(limits.everyMs, () => this.look(), failed);
    this.parked = new PeriodicTask(limits.parkedEveryMs, () => this.targets.countParked(), failed);
  }

  start(): void {
    if (this.works.size === 0) return;
    this.poll.start();
    this.parked.start();
  }

  /** Resolves when the batches that are under way are done. */
  async stop(): Promise<void> {
    await Promise.all([this.poll.stop(), this.parked.stop()]);
    for (const [name, { running }] of this.entries) if (!running) this.entries.delete(name);
    await this.idle();
  }

  /** Called when something of this kind is due now; without a kind, the merchant's clock has moved. */
  wake(merchantId: number, kind?: string): void {
    if (!this.poll.running) return;
    for (const work of this.works.values()) {
      if (kind === undefined ? work.time === 'merchant' : work.kind === kind) this.add({ work, merchantId });
    }
    this.next();
  }

  /** Does everything that is due, and that becomes due by it. For tests and commands: a running service needs no call. */
  async drain(): Promise<void> {
    while ((await this.look()) || this.entries.size > 0) await this.idle();
  }

  /** Makes parked items due again; returns how many of each kind. */
  async resume(): Promise<Record<string, number>> {
    const resumed: Record<string, number> = {};
    for (const kind of this.works.keys()) {
      for (let count = 1; count > 0; ) {
        count = (await this.parts.db.queryIndexOnly(resumeText, [kind, this.now()])).length;
        if (count > 0) resumed[kind] = (resumed[kind] ?? 0) + count;
      }
    }
    return resumed;
  }

  private now(): number {
    return Math.floor(this.parts.clock.wall() / 1000);
  }

  /** True if there is anything to do. */
  private async look(): Promise<boolean> {
    if (this.works.size === 0) return false;
    const found = await this.targets.find(this.now());
    for (const target of found) this.add(target);
    this.next();
    return found.length > 0;
  }

  private add(target: Target): void {
    const name = `${target.work.kind} ${target.merchantId}`;
    const entry = this.entries.get(name);
    if (entry) entry.again = true;
    else this.entries.set(name, { ...target, running: false, again: false });
  }

  /** Starts targets in the order in which they were found, as far as there are places. */
  private next(): void {
    const running = [...this.entries.values()].filter(entry => entry.running);
    for (const [name, entry] of this.entries) {
      if (running.length >= limits.batches) return;
      const { work } = entry;
      if (entry.running || running.filter(other => other.work === work).length >= work.atOnce) continue;
      entry.running = true;
      running.push(entry);
      void this.batch(name, entry);
    }
    if (this.entries.size === 0) for (const idler of this.idlers.splice(0)) idler();
  }

  private idle(): Promise<void> {
    return this.entries.size === 0 ? Promise.resolve() : new Promise(resolve => this.idlers.push(resolve));
  }

  private async batch(name: string, entry: Entry): Promise<void> {
    entry.again = false;
    const { work, merchantId } = entry;
    const claimed = await this.attempt(entry).catch(error => {
      // the items can be claimed again when their lease is over
      this.parts.log.warn({ err: error, kind: work.kind, merchantId }, 'work could not be done');
      return 'none' as const;
    });
    this.entries.delete(name);
    // requeued last: others have their turn first
    const again = claimed === 'maybe more' || entry.again;
    if (again && !this.poll.stopped) this.entries.set(name, { work, merchantId, running: false, again: false });
    // a look sees a limited window: the items behind it show when these are done
    else if (this.entries.size === 0 && claimed !== 'none') this.poll.wake();
    this.next();
  }

  private async attempt({ work, merchantId }: Target): Promise<'none' | 'all' | 'maybe more'> {
    const lease = await claim(this.parts, work, merchantId);
    if (!lease) return 'none';
    if (lease.items.length > 0) await this.run(lease, lease.items);
    return lease.alone || lease.items.length === work.batch ? 'maybe more' : 'all';
  }

  private async run(lease: Lease, items: readonly WorkItem[]): Promise<void> {
    try {
      await perform(this.parts, lease, items);
      workItems.inc({ kind: lease.work.kind, outcome: 'done' }, items.length);
    } catch (error) {
      if (error instanceof LeaseLost) return this.withoutLost(lease, items, error);
      if (lease.items.length === 1) return fail(this.parts, lease, error);
      const { kind } = lease.work;
      this.parts.log.warn({ err: error, kind, merchantId: lease.merchantId }, 'a batch of work failed; one by one');
      await release(this.parts, lease, items);
      this.add({ work: lease.work, merchantId: lease.merchantId });
    }
  }

  /** Leaves the lost items to the other worker; the rest are done now. */
  private async withoutLost(lease: Lease, items: readonly WorkItem[], { keys }: LeaseLost): Promise<void> {
    workItems.inc({ kind: lease.work.kind, outcome: 'lost' }, keys.length);
    const rest = items.filter(({ key }) => !keys.includes(key));
    if (rest.length > 0) await this.run(lease, rest);
  }
}
