import { Controller } from '@nestjs/common';
import { operation } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { z } from 'zod';
import {
  aggregate,
  type Caller,
  CommittedRejection,
  copyOf,
  createPlatformTablesV1,
  createWorkTablesV1,
  Db,
  each,
  given,
  Handle,
  indexDeadLettersV3,
  int,
  integer,
  listStatementsV2,
  money,
  type ServiceDefinition,
  searchableV1,
  secureV1,
  serviceConfig,
  sorted,
  table,
  text,
} from '../src/index.js';

/** A service of one kind of thing, and a copy of another's: what the platform is tested with. */
export interface Thing {
  merchantId: number;
  id: number;
  name: string;
  size: bigint;
  version: number;
}

export interface Colour {
  merchantId: number;
  id: string;
  name: string;
  version: number;
}

export const things = table<Thing>('things', {
  key: ['merchantId', 'id'],
  columns: { merchantId: integer(), id: integer(), name: text(), size: money(), version: int() },
  indices: { things_name: { on: ['merchantId', 'name'], unique: true } },
  checks: { things_size: 'size >= 0' },
});

export const colours = table<Colour>('colours', {
  key: ['merchantId', 'id'],
  columns: { merchantId: integer(), id: text(), name: text(), version: int() },
});

class Things1700000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await createPlatformTablesV1(runner, 'catalog');
    await listStatementsV2(runner);
    await indexDeadLettersV3(runner);
    await createWorkTablesV1(runner, 'catalog');
    await runner.query(`create table things (merchant_id bigint not null, id bigint not null, name text not null,
      size bigint not null, version integer not null, constraint things_pkey primary key (merchant_id, id),
      constraint things_size check (size >= 0))`);
    await runner.query('create unique index things_name on things (merchant_id, name)');
    await runner.query('create sequence things_id_seq');
    await runner.query(`create table colours (merchant_id bigint not null, id text not null, name text not null,
      version integer not null, constraint colours_pkey primary key (merchant_id, id))`);
    for (const name of ['things', 'colours']) {
      await runner.query(secureV1(name));
      await runner.query(`grant select, insert, update, delete on ${name} to catalog_app`);
    }
    await runner.query('grant usage on sequence things_id_seq to catalog_app');
    await runner.query(`select set_config('app.merchant_id', '99', false)`);
    await runner.query(`insert into things values (99, 0, 'before it was searchable', 1, 1)`);
    await runner.query(searchableV1('catalog', 'things', 'id', { name: 'new.name' }));
  }
  async down(): Promise<void> {}
}

const base = {
  service: 'catalog',
  methods: ['POST'],
  path: '/merchant/thing',
  summary: 'A thing',
  permission: 'plan.write',
  errors: [],
} as const;
const ThingShape = z.object({ id: z.int(), name: z.string(), size: z.int(), version: z.int() });
const Shape = z.object({ thing: ThingShape });

export const newThing = operation({
  ...base,
  name: 'thing.new',
  effect: 'write',
  input: z.object({ name: z.string().min(1), size: z.int(), colour: z.string().optional() }),
  output: Shape,
});
export const growThing = operation({
  ...base,
  name: 'thing.grow',
  effect: 'write',
  input: z.object({ id: z.int(), by: z.int(), twice: z.boolean().optional() }),
  output: Shape,
});
export const secretThing = operation({
  ...base,
  name: 'thing.secret',
  effect: 'write',
  secretOutput: true,
  input: z.object({ name: z.string() }),
  output: z.object({ secret: z.string() }),
});
export const ensureThing = operation({
  ...base,
  name: 'thing.ensure',
  effect: 'write',
  input: z.object({ name: z.string() }),
  output: Shape,
});
/** Shrinks a thing by what is too much for it: refused, and counted in its size. */
export const wearThing = operation({
  ...base,
  name: 'thing.wear',
  effect: 'write',
  input: z.object({ id: z.int(), hold: z.boolean() }),
  output: Shape,
});
export const getThing = operation({
  ...base,
  name: 'thing.get',
  effect: 'read',
  input: z.object({ id: z.int() }),
  output: Shape,
});
export const listThings = operation({
  ...base,
  name: 'thing.list',
  effect: 'read',
  input: z.object({
    name: z.string().optional(),
    sizes: z.array(z.int()).optional(),
    page: z.int(),
    count: z.int(),
    sortField: z.enum(['', 'id', 'size']).optional(),
    sortType: z.enum(['', 'asc', 'desc']).optional(),
    sparse: z.boolean().default(false),
    known: z.object({ fitting: z.int(), among: z.int() }).optional(),
  }),
  output: z.object({ ids: z.array(z.int()), total: z.int() }),
});

const view = ({ id, name, size, version }: Thing) => ({ id, name, size: Number(size), version });

/** The registry of events; contracts has the services' own. */
export const sampleEvents = {
  'thing.created': { aggregate: 'thing', data: ThingShape },
  'thing.grown': { aggregate: 'thing', data: ThingShape },
  'colour.changed': { aggregate: 'colour' },
  'shade.made': { aggregate: 'shade', owner: 'catalog' },
  'tone.made': { aggregate: 'tone', owner: 'identity' },
} as const;

export const thingAggregate = aggregate({
  name: 'thing',
  title: 'Thing',
  events: sampleEvents,
  table: things,
  key: 'id',
  view,
  lookups: { version: version => ({ version: Number(version) }) },
});

@Controller()
export class Things {
  /** Ways to misbehave that a test can switch on. */
  static misbehave: '' | 'no-log' | 'bug' | 'slow' | 'another-answer' = '';
  static release: () => void = () => undefined;

  constructor(private readonly db: Db) {}

  @Handle(newThing)
  create({ name, size, colour }: z.output<typeof newThing.input>, caller: Caller) {
    return this.db.append(caller, async tx => {
      const [known, id] = await Promise.all([colour ? tx.peek(colours, { id: colour }) : undefined, tx.nextId(things)]);
      if (colour && !known) throw tx.stale('colours', colour, refused('colour'));
      if (Things.misbehave === 'bug') throw new TypeError('a planted bug');
      if (Things.misbehave === 'slow')
        await new Promise<void>(resolve => {
          Things.release = resolve;
        });
      const thing: Thing = { merchantId: tx.merchantId, id, name, size: BigInt(size), version: 0 };
      tx.onConflict('things_name', () => refused('name'));
      const log = Things.misbehave === 'no-log' ? undefined : 'New';
      return { thing: tx.step(thingAggregate, thing, 'thing.created', { log }).view };
    });
  }

  @Handle(growThing)
  async grow({ id, by, twice }: z.output<typeof growThing.input>, caller: Caller) {
    const answer = await this.db.write(caller, async tx => {
      const thing = await tx.lock(thingAggregate, id, 'unknown_path');
      const grown = { ...thing, size: thing.size + BigInt(by) };
      if (twice) tx.step(thingAggregate, grown, 'thing.grown');
      return { thing: tx.step(thingAggregate, grown, 'thing.grown', { log: 'Grow' }).view };
    });
    return Things.misbehave === 'another-answer' ? { thing: answer.thing } : answer;
  }

  @Handle(wearThing)
  wear({ id, hold }: z.output<typeof wearThing.input>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const thing = await tx.lock(thingAggregate, id, 'unknown_path');
      const worn = tx.step(thingAggregate, { ...thing, size: thing.size + 1n }, 'thing.grown', { log: 'Wear' }).view;
      if (!hold) throw new CommittedRejection(new Rejected('invoice_not_open'));
      return { thing: worn };
    });
  }

  @Handle(secretThing)
  secret({ name }: z.output<typeof secretThing.input>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const id = await tx.nextId(things);
      tx.save(things, { merchantId: tx.merchantId, id, name, size: 0n, version: 0 });
      tx.log(`Thing(${id})`, 'New');
      return { secret: `canary-${id}` };
    });
  }

  /** Finds it, or makes it: the second of two at once runs again, and finds what the first has made. */
  @Handle(ensureThing)
  ensure({ name }: z.output<typeof ensureThing.input>, caller: Caller) {
    return this.db.append(caller, async tx => {
      const [known, id] = await Promise.all([tx.peek(things, { name }), tx.nextId(things)]);
      if (known) return { thing: view(known) };
      const thing: Thing = { merchantId: tx.merchantId, id, name, size: 0n, version: 0 };
      tx.onConflict('things_name', 'again');
      return { thing: tx.step(thingAggregate, thing, 'thing.created', { log: 'New' }).view };
    });
  }

  @Handle(getThing)
  get({ id }: z.output<typeof getThing.input>, caller: Caller) {
    return this.db.read(caller, async reader => ({ thing: view(await reader.get(things, { id }, 'unknown_path')) }));
  }

  @Handle(listThings)
  list({ name, sizes, page, count, sparse, known, ...sorting }: z.output<typeof listThings.input>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const { rows, total } = await reader.page({
        from: things,
        where: [['name like ?', given(name)], each('size', given(sizes))],
        order: sorted({ id: 'id', size: 'size' }, sorting),
        page,
        count,
        sparse,
        known,
      });
      return { ids: rows.map(({ id }) => id), total };
    });
  }
}

function refused(field: string) {
  return new Rejected('invalid_parameters', undefined, [{ path: `/${field}`, message: 'is not known or taken' }]);
}

export const sample: ServiceDefinition = {
  name: 'catalog',
  config: serviceConfig,
  schema: { tables: [things, colours], migrations: [Things1700000000001] },
  events: sampleEvents,
  aggregates: { thing: thingAggregate },
  copies: [
    copyOf('colours', 'identity', 'colour', colours, (data: { id: string; name: string }, merchantId, version) => ({
      ...data,
      merchantId,
      version,
    })),
  ],
  controllers: [Things],
};
