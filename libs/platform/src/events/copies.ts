import { setTimeout as pause } from 'node:timers/promises';
import {
  type AggregateState,
  type In,
  type InternalOperation,
  type Out,
  type Service,
  snapshotOperations,
  type Told,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { z } from 'zod';
import { ask } from '../bus/ask.js';
import type { Bus } from '../bus/bus.js';
import { type Caller, systemCaller } from '../runtime/caller.js';
import type { Clock } from '../runtime/clock.js';
import type { Log } from '../runtime/log.js';
import { patient } from '../runtime/patience.js';
import type { Aggregate, Loader, Lookup } from '../store/aggregate.js';
import type { Db } from '../store/db.js';
import { type EventKinds, eventIn } from '../store/event.js';
import { hydrate, type Table } from '../store/schema/table.js';
import { bounded, isCut, upTo } from '../store/sql/size-limits.js';
import { columnOf, selectText } from '../store/sql/statements.js';
import type { Tx } from '../store/tx.js';
import { type Consumption, followingOf } from './consumption.js';
import type { Copy } from './copy.js';
import { announce, type KeptBy } from './keepers.js';

/** The services that compute with copies, by owner and aggregate: the owner answers a change once they have it. */
export type AllKeptBy = Readonly<Partial<Record<Service, KeptBy>>>;

type Operations = ReturnType<typeof snapshotOperations>;
type State = Out<Operations['state']>;
type Snapshot = Out<Operations['snapshot']>;

const limits = {
  page: 500,
  events: 1_000,
  answerBytes: 524_288,
  alike: 100,
  timeoutMs: patient(4_000),
  firstPauseMs: 500,
  pauseMs: 30_000,
} as const;

/** Maintains a service's copies of others' aggregates: from events, from a snapshot, and by asking the owner. */
export class Copies {
  constructor(
    private readonly copies: readonly Copy[],
    private readonly db: Db,
    private readonly bus: Bus,
    private readonly clock: Clock,
  ) {}

  /**
   * A consumption per copy, of the owner's events of its aggregate. What the owner waits for, by `keptBy`, is announced to
   * it.
   */
  consumptions(service: string, keptBy: AllKeptBy): Consumption[] {
    return this.copies.map(copy => ({
      ...followingOf(service, copy),
      apply: async (tx, events) => {
        // the subject also matches aggregates whose names begin alike
        const own = events.filter(({ aggregate }) => aggregate === copy.aggregate);
        const newest = new Map(own.map(event => [event.aggregateId, event]));
        if (newest.size > 0) await this.put(tx, copy, [...newest.values()]);
      },
      done: (merchantId, events) => {
        const { aggregate, owner } = copy;
        if (!keptBy[owner]?.[aggregate]?.includes(service)) return;
        const own = events.filter(event => event.aggregate === aggregate);
        const states = own.map(({ aggregateId, version }) => [merchantId, aggregate, aggregateId, version] as const);
        if (states.length > 0) announce(this.bus, owner, { by: service, states });
      },
    }));
  }

  /**
   * Builds the copies that were never built, page by page, as soon as their owners answer; until then single objects are
   * asked for as needed. Events that arrive meanwhile are newer and win.
   */
  async build(log: Pick<Log, 'debug'>): Promise<void> {
    for (let wait: number = limits.firstPauseMs; ; wait = Math.min(wait * 2, limits.pauseMs)) {
      try {
        return await this.buildAll();
      } catch (error) {
        log.debug({ err: error }, 'copies cannot be built yet');
        await pause(wait);
      }
    }
  }

  private async buildAll(): Promise<void> {
    for (const copy of this.copies) {
      const [built] = await this.db.infra('select 1 from copy_state where copy = $1', [copy.name]);
      if (built) continue;
      const { snapshot } = snapshotOperations(copy.owner);
      let next: { merchantId: number; after: string } | null = { merchantId: 0, after: '' };
      while (next) {
        const caller = systemCaller(0, '', this.clock.wall() + limits.timeoutMs);
        const page: Snapshot = await askOwner(this.bus, snapshot, { aggregate: copy.aggregate, ...next }, caller);
        for (const item of page.items) await this.store(copy, item.merchantId, item);
        next = page.next;
      }
      await this.db.infra('insert into copy_state (copy, built_at) values ($1, $2) on conflict do nothing', [
        copy.name,
        Math.floor(this.clock.wall() / 1000),
      ]);
    }
  }

  /**
   * Asks the owner for the newest state of an aggregate by id, or of those that another field finds, within the caller's
   * deadline. Throws Rejected `dependency_away` (code 56) if the owner is away.
   */
  async refresh(name: string, id: Lookup, caller: Caller): Promise<void> {
    const copy = this.copies.find(candidate => candidate.name === name);
    if (!copy) throw new Error(`no copy ${name}`);
    const { aggregate, owner } = copy;
    // work has no deadline of its own
    const deadline = Math.min(caller.deadline, this.clock.wall() + limits.timeoutMs);
    const { item, more = [] } = await askOwner(
      this.bus,
      snapshotOperations(owner).state,
      typeof id === 'object' ? { aggregate, by: id } : { aggregate, id: String(id) },
      { ...caller, deadline },
    );
    for (const state of item ? [item, ...more] : []) await this.store(copy, caller.merchantId, state);
  }

  private async store(copy: Copy, merchantId: number, item: { version: number; data: unknown }): Promise<void> {
    const caller = systemCaller(merchantId, '', Number.POSITIVE_INFINITY);
    await this.db.apply(caller, tx => this.put(tx, copy, [item]));
  }

  private async put(tx: Tx, copy: Copy, states: readonly { version: number; data: unknown }[]): Promise<void> {
    const rows = states.map(({ data, version }) => copy.row(data, tx.merchantId, version));
    await copy.arrives?.(tx, rows);
    await tx.upsert(copy.table, rows);
  }
}

/** Asks the owner of an aggregate. Any refusal becomes `dependency_away` (code 56), since the caller may retry it. */
export async function askOwner<Op extends InternalOperation>(
  bus: Pick<Bus, 'request'>,
  operation: Op,
  input: z.input<Op['input']>,
  caller: Caller,
): Promise<z.output<Op['output']>> {
  try {
    return await ask(bus, operation, input, caller);
  } catch (error) {
    if (!(error instanceof Rejected) || ['dependency_away', 'deadline_exceeded'].includes(error.slug)) throw error;
    throw new Rejected('dependency_away', `The ${operation.service} service could not say: ${error.slug}`);
  }
}

/**
 * The owner's side of copies: answers single states, snapshots and missed events. Aggregates that are declared in the
 * event registry but not kept yet (`awaited`) have no states.
 */
export class SnapshotSource {
  constructor(
    private readonly db: Db,
    private readonly aggregates: Readonly<Record<string, Aggregate>>,
    private readonly kinds: EventKinds,
    private readonly awaited: ReadonlySet<string>,
    /** Aggregates that others are told of; undefined: all. */
    private readonly told?: Told,
  ) {}

  async state({ aggregate, id, by = {} }: In<Operations['state']>, caller: Caller): Promise<State> {
    if (this.awaited.has(aggregate)) return { item: null };
    this.assertTold('states', aggregate);
    const { table, key, lookups, ...of } = this.of(aggregate);
    const [name = '', value = ''] = Object.entries(by)[0] ?? [];
    const where = id === undefined ? value && lookups[name]?.(value) : { [key]: id };
    if (!where) throw new Rejected('invalid_parameters', `no ${aggregate} is known by ${name || 'nothing'}`);
    const newest = `order by ${columnOf(table, key)} desc limit ${limits.alike}`;
    const [item = null, ...more] = await this.db.read(caller, async reader =>
      itemsOf(of, reader, await reader.all(table, where, newest)),
    );
    return { item, ...(more.length > 0 && { more }) };
  }

  async snapshot({ aggregate, merchantId, after }: In<Operations['snapshot']>, caller: Caller): Promise<Snapshot> {
    if (this.awaited.has(aggregate)) return { items: [], next: null };
    this.assertTold('states', aggregate);
    const { table, key, ...of } = this.of(aggregate);
    const [tenant] = await this.db.infra(
      'select merchant_id from tenants where merchant_id >= $1 order by merchant_id limit 1',
      [merchantId],
    );
    if (!tenant) return { items: [], next: null };
    const at = Number(tenant.merchant_id);
    const from = at === merchantId ? after : '';
    const { rows, all } = await this.db.read({ ...caller, merchantId: at }, async reader => {
      const rows = await reader.query(snapshotText(table, key, from !== ''), from === '' ? [at] : [at, from]);
      const found = rows.map(row => hydrate(table, row));
      return { rows, all: await itemsOf(of, reader, found) };
    });
    const items = sendable(all);
    const ended = all.length < limits.page && items.length === all.length && !isCut(rows, limits.answerBytes);
    const last = rows[items.length - 1]?.[columnOf(table, key)];
    return { items, next: ended ? { merchantId: at + 1, after: '' } : { merchantId: at, after: String(last) } };
  }

  /** Events of an aggregate that the outbox still keeps, versions `from` up to, not including, `to`; the first that fit. */
  async events({ aggregate, aggregateId, from, to }: In<Operations['events']>, caller: Caller) {
    this.assertTold('events', aggregate);
    const rows = await this.db.infra(missedText, [caller.merchantId, aggregate, aggregateId, from, to]);
    const events = rows.flatMap(({ envelope }) => eventIn(String(envelope), this.kinds) ?? []);
    return { events: sendable(events) };
  }

  private assertTold(what: keyof Told, aggregate: string): void {
    if (this.told?.[what].has(aggregate) === false) throw unknown(aggregate);
  }

  private of(aggregate: string) {
    const found = this.aggregates[aggregate];
    if (!found?.view) throw unknown(aggregate);
    const { table, key, view, load, lookups = {} } = found;
    return { table, key, view, load, lookups };
  }
}

const unknown = (aggregate: string) => new Rejected('invalid_parameters', `no aggregate ${aggregate} here`);

/** The states of an aggregate's rows, as copies store them. */
function itemsOf(
  { view, load }: Pick<Required<Aggregate>, 'view'> & Pick<Aggregate, 'load'>,
  loader: Loader,
  rows: readonly unknown[],
): Promise<AggregateState[]> {
  const items = rows.map(async row => ({
    merchantId: loader.merchantId,
    version: versionOf(row),
    data: view(load ? await load(loader, row) : row),
  }));
  return Promise.all(items);
}

/**
 * SQL for a page of one merchant's rows in key order, bounded in bytes: the first page, or the one after key $2. Two
 * statements, since a prepared one for both cases would read all rows before its page.
 */
export function snapshotText(table: Table<unknown>, key: string, goesOn: boolean): string {
  const column = columnOf(table, key);
  const order = `order by ${column}`;
  const tail = `${goesOn ? `and ${column} > $2` : ''} ${order} limit ${limits.page}`;
  return bounded(table, selectText(table, ['merchantId'], tail), order, limits.answerBytes);
}

const missedText = upTo(
  limits.answerBytes,
  `select version, envelope from outbox where merchant_id = $1 and aggregate = $2 and aggregate_id = $3
     and version >= $4 and version < $5 order by version limit ${limits.events}`,
  'octet_length(envelope)',
  'order by version',
);

/** The leading items that fit a message, at least one. */
function sendable<T>(all: readonly T[]): T[] {
  let bytes = 0;
  const end = all.findIndex((one, at) => {
    bytes += Buffer.byteLength(JSON.stringify(one));
    return bytes > limits.answerBytes && at > 0;
  });
  return all.slice(0, end < 0 ? all.length : end);
}

const versionOf = (row: unknown) => Number((row as { version?: number }).version ?? 1);
