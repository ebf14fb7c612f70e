import { createHash } from 'node:crypto';
import type { Publication } from '../bus/bus.js';
import { textOf } from '../bus/message.js';
import { type Event, type EventKinds, eventIn } from '../store/event.js';
import type { Row } from '../store/pool.js';

/** Limits of a message; a longer event has a message of its own. */
const limits = { events: 64, characters: 262_144 } as const;

const LINE_FEED = 10;

/** Number of events in a message; see `packed`. */
export function countIn({ data }: { data: Uint8Array }): number {
  let count = 1;
  for (let at = data.indexOf(LINE_FEED); at >= 0; at = data.indexOf(LINE_FEED, at + 1)) count++;
  return count;
}

/** The events of a message; undefined in the place of one that cannot be decoded. */
export function eventsIn({ data }: { data: Uint8Array }, kinds: EventKinds): (Event | undefined)[] {
  return textOf(data)
    .split('\n')
    .map(line => eventIn(line, kinds));
}

/** A message with events, and their rows of the outbox. */
export interface Parcel extends Publication {
  rows: readonly Row[];
}

/**
 * Packs rows of the outbox into messages: events of one type, a line each, since a message costs the bus and its readers
 * more than an event in it. Events of one aggregate stay in order: an event never travels before an earlier one.
 */
export function packed(service: string, rows: readonly Row[]): Parcel[] {
  const parcels: { rows: Row[]; characters: number }[] = [];
  const open = new Map<unknown, number>();
  const last = new Map<string, number>();
  for (const row of rows) {
    const { length } = String(row.envelope);
    const object = `${row.merchant_id} ${row.aggregate} ${row.aggregate_id}`;
    let at = open.get(row.type) ?? -1;
    const parcel = parcels[at];
    if (
      parcel &&
      at >= (last.get(object) ?? 0) &&
      parcel.rows.length < limits.events &&
      parcel.characters + length <= limits.characters
    ) {
      parcel.rows.push(row);
      parcel.characters += length;
    } else {
      at = parcels.push({ rows: [row], characters: length }) - 1;
      open.set(row.type, at);
    }
    last.set(object, at);
  }
  return parcels.map(({ rows }) => ({
    rows,
    subject: `evt.${service}.${rows[0]?.type}`,
    id: envelopeId(rows),
    payload: Buffer.from(rows.map(({ envelope }) => envelope).join('\n')),
  }));
}

/**
 * Message id, by which the stream drops repeats. It covers the ids of all events, since a republished event may be packed
 * with others than the first time.
 */
function envelopeId(rows: readonly Row[]): string {
  const ids = rows.map(({ id }) => String(id));
  return ids.length === 1 ? ids.join() : createHash('sha256').update(ids.join()).digest('base64url');
}
