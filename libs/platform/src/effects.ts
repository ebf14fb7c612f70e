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

/** All that one command leaves behind. `rows[i]` is JSON of the rows that change as `changes[i]` says, without brackets. */
export interface Effects {
  changes: readonly (readonly [Table<unknown>, Change])[];
  rows: readonly string[];
  events: readonly EventRow[];
  answers: readonly AnswerRow[];
}

const eventColumns = ['id', 'type', 'aggregate', 'aggregateId', 'version', 'envelope', 'createdAt'] as const;
const answerColumns = ['key', 'fingerprint', 'requestId', 'form', 'answer', 'createdAt'] as const;

/** How many parameters of `commitText` events and answers take, after the merchant and the changed tables. */
export const widths = { events: eventColumns.length, answers: answerColumns.length } as const;

/** The values of the statement that `commitText` writes, for commands of one merchant that change the same tables. */
export function commitValues(merchantId: number, commands: readonly Effects[]): unknown[] {
  const tables = commands[0]?.rows.map((_, table) => `[${commands.map(({ rows }) => rows[table]).join(',')}]`) ?? [];
  const events = commands.flatMap(command => command.events);
  const answers = commands.flatMap(command => command.answers);
  return [
    String(merchantId),
    ...tables,
    ...eventColumns.map(column => textArray(events.map(event => String(event[column])))),
    ...answerColumns.map(column => textArray(answers.map(answer => String(answer[column])))),
  ];
}

const TEXT_OID = 25;

/**
 * A text[] in PostgreSQL's binary format (array_send: dimensions, null flag, element type, length and lower bound, then
 * length and bytes of each element). Long texts pass so without being escaped here and parsed there.
 */
function textArray(values: readonly string[]): Buffer {
  const lengths = values.map(value => Buffer.byteLength(value));
  const head = values.length === 0 ? 12 : 20;
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + 4 + length, head));
  bytes.writeInt32BE(values.length === 0 ? 0 : 1, 0);
  bytes.writeInt32BE(0, 4);
  bytes.writeInt32BE(TEXT_OID, 8);
  if (values.length === 0) return bytes;
  bytes.writeInt32BE(values.length, 12);
  bytes.writeInt32BE(1, 16);
  let at = head;
  for (const [index, value] of values.entries()) {
    at = bytes.writeInt32BE(lengths[index] ?? 0, at);
    at += bytes.write(value, at);
  }
  return bytes;
}
