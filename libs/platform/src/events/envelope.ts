import { createHash } from 'node:crypto';
import { type EventEnvelope, type Slimming, slimming } from '@recur/contracts';
import { z } from 'zod';
import type { Publication } from '../bus/bus.js';
import { textOf } from '../bus/message.js';
import type { Row } from '../store/session.js';

/** What the platform knows of an event type; contracts' registry fits. */
export interface EventKind {
  aggregate: string;
  /** The service that emits it; absent where it does not matter, as of the log that every service writes. */
  owner?: string;
  /** The shape of its data, without which it is kept and sent as it is. */
  data?: z.ZodType;
}

export type EventKinds = Readonly<Record<string, EventKind>>;

/** An event as it travels; of what kind, its consumer knows from the subject. */
export type Event<D = unknown> = Omit<EventEnvelope, 'type' | 'data'> & { type: string; data: D };

/** What one message carries at most; a longer event has one of its own. */
const limits = { events: 64, characters: 262_144 } as const;

const DATA = ',"data":';
const LINE_FEED = 10;

/** The JSON of an event, in which its data is slim; and that of its data, whole. */
export function written(head: Omit<Event, 'data'>, data: object, kind: EventKind | undefined) {
  const { whole, slim } = slimmingOf(kind).write(data);
  return { envelope: `${JSON.stringify(head).slice(0, -1)}${DATA}${slim}}`, data: whole };
}

/** The data of an event that was written, byte for byte as it was answered. */
export function wholeIn(envelope: string, kinds: EventKinds): string {
  const { type, data } = eventIn(envelope, kinds) as Event<object>;
  return slimmingOf(kinds[type]).write(data).whole;
}

/** Of a kind without a shape, or an unknown one, data is what it is. */
const slimmingOf = (kind: EventKind | undefined) => slimming<unknown>(kind?.data ?? anything);
const anything = z.unknown();

/**
 * An event as it was written. Its data stands last, after texts in which every quote is escaped, so it begins where the
 * word first stands. Undefined where it is none: whoever reaches the bus can publish.
 */
export function eventIn(text: string, kinds: EventKinds): Event | undefined {
  const at = text.indexOf(DATA);
  const head = at < 0 ? undefined : headIn(`${text.slice(0, at)}}`);
  return head && Object.assign(new Unread(text.slice(at + DATA.length, -1), slimmingOf(kinds[head.type])), head);
}

/**
 * What is read when somebody asks for it. The getter is the class's: for one that an object has to itself the engine
 * makes a hidden class, which is old from birth and keeps all that the getter sees until the old are collected.
 */
class Unread {
  readonly #text: string;
  readonly #slimming: Slimming;
  #data: unknown;

  constructor(text: string, slimming: Slimming) {
    this.#text = text;
    this.#slimming = slimming;
  }

  get data(): unknown {
    this.#data ??= this.#slimming.complete(JSON.parse(this.#text));
    return this.#data;
  }

  toJSON(): object {
    return { ...this, data: this.data };
  }
}

function headIn(text: string): Event | undefined {
  try {
    const head = JSON.parse(text) as Event;
    const named = [head.id, head.aggregate, head.aggregateId].every(name => typeof name === 'string');
    return named && Number.isSafeInteger(head.merchantId) && Number.isInteger(head.version) ? head : undefined;
  } catch {
    return undefined;
  }
}

/** How many events a message carries; see `packed`. */
export function countIn({ data }: { data: Uint8Array }): number {
  let count = 1;
  for (let at = data.indexOf(LINE_FEED); at >= 0; at = data.indexOf(LINE_FEED, at + 1)) count++;
  return count;
}

/** The events that a message carries. */
export function eventsIn({ data }: { data: Uint8Array }, kinds: EventKinds): (Event | undefined)[] {
  return textOf(data)
    .split('\n')
    .map(line => eventIn(line, kinds));
}

/** A message with events, and the rows of the outbox that they are. */
export interface Parcel extends Publication {
  rows: readonly Row[];
}

/**
 * Packs rows of the outbox: a message carries events of one type, a line each, because a message costs the bus and its
 * readers more than an event in it. What is of one object stays in order: an event never travels before an earlier one.
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
    id: idOf(rows),
    payload: Buffer.from(rows.map(({ envelope }) => envelope).join('\n')),
  }));
}

/**
 * The stream drops a message whose id it has seen. So the id stands for all events in it: what is sent again may come
 * together with others than the first time.
 */
function idOf(rows: readonly Row[]): string {
  const ids = rows.map(({ id }) => String(id));
  return ids.length === 1 ? ids.join() : createHash('sha256').update(ids.join()).digest('base64url');
}
