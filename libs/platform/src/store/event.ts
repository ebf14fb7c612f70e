import { type EventEnvelope, type Slimming, slimming } from '@recur/contracts';
import { z } from 'zod';

/** The platform's view of an event type; the registry in contracts satisfies it. */
export interface EventKind {
  aggregate: string;
  /** The service that emits it; `every`, or absent, for events that several services write. */
  owner?: string;
  /** The schema of its data. Without one, data is stored and published unchanged. */
  data?: z.ZodType;
}

export type EventKinds = Readonly<Record<string, EventKind>>;

/** An event as it is published. */
export type Event<D = unknown> = Omit<EventEnvelope, 'type' | 'data'> & { type: string; data: D };

const DATA = ',"data":';

/** Serializes an event: `envelope` carries the data without its empty fields, `data` is the complete JSON of the data. */
export function eventJson(head: Omit<Event, 'data'>, data: object, kind: EventKind | undefined) {
  const { whole, slim } = slimmingOf(kind).write(data);
  return { envelope: `${JSON.stringify(head).slice(0, -1)}${DATA}${slim}}`, data: whole };
}

/** The complete JSON of a stored event's data, byte for byte as the command answered it. */
export function wholeIn(envelope: string, kinds: EventKinds): string {
  const { type, data } = eventIn(envelope, kinds) as Event<object>;
  return slimmingOf(kinds[type]).write(data).whole;
}

/** Events without a schema, or of an unknown type, keep their data unchanged. */
const slimmingOf = (kind: EventKind | undefined) => slimming<unknown>(kind?.data ?? anything);
const anything = z.unknown();

/**
 * Parses a stored or received event; undefined if the text is not one (anything that reaches the bus can publish).
 * `data` is the last member, and quotes in the members before it are escaped, so the first `,"data":` is its start.
 */
export function eventIn(text: string, kinds: EventKinds): Event | undefined {
  const at = text.indexOf(DATA);
  const head = at < 0 ? undefined : headIn(`${text.slice(0, at)}}`);
  return head && Object.assign(new Unread(text.slice(at + DATA.length, -1), slimmingOf(kinds[head.type])), head);
}

/**
 * Decodes an event's data lazily. The getter belongs to the class: a getter per object makes V8 create a hidden class
 * per object, which lives until a full GC together with everything the getter closes over.
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
