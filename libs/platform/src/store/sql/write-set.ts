import type { Table } from '../schema/table.js';
import type { Arrays } from './arrays.js';
import { type RowToWrite, rowsValues } from './rows.js';

/** How a command changes a table: it inserts rows, or updates rows that it has locked. */
export type Change = 'insert' | 'update';

/** A row of the outbox; `envelope` is published byte for byte, `data` is the complete JSON of the event's data. */
export interface EventRow {
  id: string;
  type: string;
  aggregate: string;
  aggregateId: string;
  version: number;
  envelope: string;
  data: string;
  createdAt: number;
}

/**
 * An answer stored under an idempotency key. `plain` is its bytes; in `events`, members that are an event's data refer to
 * the event instead of being stored twice; `sealed` is encrypted.
 */
export interface AnswerRow {
  key: string;
  fingerprint: string;
  requestId: string;
  form: 'plain' | 'events' | 'sealed';
  answer: string;
  createdAt: number;
}

/** Rows of one table that change in one way. */
export interface RowGroup {
  readonly table: Table<unknown>;
  readonly change: Change;
  readonly rows: readonly RowToWrite[];
}

/** Everything one command commits. `rows[i]` are the rows that change as `changes[i]` says. */
export interface WriteSet {
  changes: readonly (readonly [Table<unknown>, Change])[];
  rows: readonly (readonly RowToWrite[])[];
  events: readonly EventRow[];
  answers: readonly AnswerRow[];
}

const eventColumns = ['id', 'type', 'aggregate', 'aggregateId', 'version', 'envelope', 'createdAt'] as const;
const answerColumns = ['key', 'fingerprint', 'requestId', 'form', 'answer', 'createdAt'] as const;

/** How many parameters of `commitText` events and answers take, after the merchant and the changed tables. */
export const widths = { events: eventColumns.length, answers: answerColumns.length } as const;

/** The values of the statement that `commitText` writes, for commands of one merchant that change the same tables. */
export function commitValues(merchantId: number, commands: readonly WriteSet[], arrays: Arrays): unknown[] {
  const changes = commands[0]?.changes ?? [];
  const events = commands.flatMap(command => command.events);
  const answers = commands.flatMap(command => command.answers);
  return [
    String(merchantId),
    ...changes.flatMap(([table], at) =>
      rowsValues(
        table,
        commands.flatMap(({ rows }) => rows[at] ?? []),
        arrays,
      ),
    ),
    ...eventColumns.map(column => arrays.texts(events.map(event => String(event[column])))),
    ...answerColumns.map(column => arrays.texts(answers.map(answer => String(answer[column])))),
  ];
}
