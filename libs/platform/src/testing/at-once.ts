import type { Row } from '../store/pool.js';
import type { Database } from './empty-table.js';

/** The result of a command, as a test service gives it. */
interface Ended {
  ok: boolean;
  slug?: string;
}

/** Two commands on the same objects, and what became of these. */
export interface Race {
  commands: readonly [() => Promise<Ended>, () => Promise<Ended>];
  /** Without what differs from object to object, such as ids. */
  state(): Promise<unknown>;
}

const attempts = 6;

/**
 * The outcomes of two commands at once, on new objects each time, that neither order of the two has when one runs after
 * the other. There is one if a command overwrites what it has not seen, or counts or numbers from it. Throws where the
 * command that comes first is refused: such a race proves nothing.
 */
export async function unserializable(prepare: () => Promise<Race>): Promise<string[]> {
  const [forward, backward] = [await prepare(), await prepare()];
  const inTurn = [await outcome(forward, inOrder), await outcome(backward, reversed)];
  const races = await Promise.all(Array.from({ length: attempts }, prepare));
  const seen = await Promise.all(races.map(race => outcome(race, atOnce)));
  return [...new Set(seen)].filter(one => !inTurn.includes(one));
}

type Results = readonly [Ended, Ended];

async function outcome(race: Race, run: (commands: Race['commands']) => Promise<Results>): Promise<string> {
  const results = await run(race.commands);
  const ends = results.map(result => (result.ok ? 'done' : result.slug));
  return JSON.stringify([ends, await race.state()]);
}

const atOnce = ([one, other]: Race['commands']): Promise<Results> => Promise.all([one(), other()]);
const inOrder = async ([one, other]: Race['commands']): Promise<Results> => [done(await one()), await other()];
async function reversed([one, other]: Race['commands']): Promise<Results> {
  const second = done(await other());
  return [await one(), second];
}

function done(result: Ended): Ended {
  if (!result.ok) throw new Error(`refused: ${JSON.stringify(result)}`);
  return result;
}

/** Answers the process of the database in which a transaction runs, as `pid`. */
export const ownProcess = 'select pg_backend_pid() as pid';

const waitingFor = `select pid, query_start from pg_stat_activity
  where datname = current_database() and $1 = any(pg_blocking_pids(pid))`;

/**
 * The processes that wait for a lock which this one holds, with the times at which their statements began: what waits a
 * moment for something else is not among them.
 */
export const blockedBy = ({ rows }: Database, pid: unknown): Promise<Row[]> => rows(waitingFor, [pid]);

interface Looked {
  tables: readonly string[];
  /** Fields that differ from merchant to merchant, such as ids: left out, but for the length of a list. */
  unlike: readonly string[];
  /** Aggregates of all merchants together: their events are shown without versions. */
  shared?: readonly string[];
}

/** A merchant's rows in some tables, and its events. */
export async function merchantState(
  { rows }: Database,
  merchantId: number,
  { tables, unlike, shared = [] }: Looked,
): Promise<object> {
  const alike = (key: string, value: unknown) => {
    if (!unlike.includes(key)) return value;
    return Array.isArray(value) ? value.length : undefined;
  };
  const contents = tables.map(async table => {
    const found = await rows(`select to_jsonb(t) as row from ${table} t where merchant_id = $1`, [merchantId]);
    return [table, found.map(({ row }) => JSON.stringify(row, alike)).sort()];
  });
  const events = await rows(
    `select string_agg(case when aggregate = any($2) then type else concat(type, ' ', version) end, ', '
       order by version) as story from outbox where merchant_id = $1 group by aggregate, aggregate_id order by story`,
    [merchantId, shared],
  );
  return { rows: Object.fromEntries(await Promise.all(contents)), events: events.map(({ story }) => story) };
}
