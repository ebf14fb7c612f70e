import { textArray } from './fast/binary-arrays.js';
import { type RowToWrite, rowsValues } from './rows.js';
import type { Change } from './statements.js';
import type { Table } from './table.js';

/** An event as it goes into the outbox; `envelope` is what will be published, byte for byte, and `data` JSON in it. */
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
 * An answer kept under an Idempotency-Key. `plain` is the bytes of `data`; in `events`, members that are an event's
 * data are named by the event's id instead of written twice; `sealed` is an encrypted answer.
 */
export interface AnswerRow {
  key: string;
  fingerprint: string;
  requestId: string;
  form: 'plain' | 'events' | 'sealed';
  answer: string;
  createdAt: number;
}

/** All that one command leaves behind. `rows[i]` are the rows that change as `changes[i]` says. */
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
export function commitValues(merchantId: number, commands: readonly WriteSet[]): unknown[] {
  const changes = commands[0]?.changes ?? [];
  const events = commands.flatMap(command => command.events);
  const answers = commands.flatMap(command => command.answers);
  return [
    String(merchantId),
    ...changes.flatMap(([table], at) =>
      rowsValues(
        table,
        commands.flatMap(({ rows }) => rows[at] ?? []),
      ),
    ),
    ...eventColumns.map(column => textArray(events.map(event => String(event[column])))),
    ...answerColumns.map(column => textArray(answers.map(answer => String(answer[column])))),
  ];
}
