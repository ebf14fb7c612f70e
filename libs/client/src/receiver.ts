import type { EmittedEventName } from '@recur/contracts';
import { objectOf } from './objects.js';
import { type UnknownEvent, type Verified, verifyWebhook, type WebhookEvent, type WebhookHeaders } from './webhook.js';

/** The place of an event in the order of its object. */
export interface WebhookPlace {
  /** Such as `7 invoice in_…` of merchant 7; events about one object share it. */
  object: string;
  sequence: number;
}

/** Keeps the sequence of the last event of each object that was handled. */
export interface WebhookOrder<T = void> {
  /** The sequence kept; 0 for none. */
  last(object: string): number | Promise<number>;
  /**
   * Runs an effect and records its place, or does neither: false where one not below it is recorded already. In a database
   * both are in one transaction, which the effect is given. An event without a place is not recorded.
   */
  advance(place: WebhookPlace | undefined, effect: (transaction: T) => Promise<void>): Promise<boolean>;
}

type Handler<E, T> = (event: E, transaction: T) => unknown;

/** Handlers of events by name; `default` gets those without a handler, and those of later versions. */
export type WebhookHandlers<T = void> = { [N in EmittedEventName]?: Handler<WebhookEvent<N>, T> } & {
  default?: Handler<UnknownEvent, T>;
};

export interface ReceiverOptions<T> {
  /** The endpoint's secrets: two while one is being replaced. */
  secrets: readonly string[];
  on: WebhookHandlers<T>;
  /** Sees an event that arrived after a later one of its object was handled, in place of its handler. */
  overtaken?: (event: UnknownEvent) => unknown;
  /** Absent: in memory, for one process until it ends. */
  order?: WebhookOrder<T>;
}

/** The outcome of a delivery. `status` is the response that recur expects: it tries again after 500. */
export type Receipt =
  | { status: 204; outcome: 'handled' | 'repeated' | 'overtaken' | 'ignored' }
  | { status: 400; outcome: Extract<Verified, { ok: false }>['reason'] }
  | { status: 500; outcome: 'failed'; error: unknown };

/**
 * A receiver of webhooks: verifies a delivery, and has its event handled once and in order. Events of one object are
 * handled one after another; one that is not after the last handled one of its object is repeated or overtaken, and its
 * handler does not see it. `body` is the text as received. Throws TypeError where a secret is none.
 */
export function webhookReceiver<T = void>({ secrets, on, overtaken, order = memoryOrder() }: ReceiverOptions<T>) {
  const inTurn = turns();

  async function placed(event: UnknownEvent, object: string, handler: Handler<UnknownEvent, T>) {
    const { sequence } = event;
    let last = await order.last(object);
    if (sequence > last) {
      if (await order.advance({ object, sequence }, run(event, handler))) return 'handled';
      // another process was faster
      last = await order.last(object);
    }
    if (sequence === last) return 'repeated';
    await overtaken?.(event);
    return 'overtaken';
  }

  async function unplaced(event: UnknownEvent, handler: Handler<UnknownEvent, T>) {
    await order.advance(undefined, run(event, handler));
    return 'handled' as const;
  }

  return async ({ body, headers }: { body: string; headers: WebhookHeaders }): Promise<Receipt> => {
    const verified = await verifyWebhook({ body, headers, secrets });
    if (!verified.ok) return { status: 400, outcome: verified.reason };
    const event: UnknownEvent = verified.event;
    const handler = handlerOf(on, event.type);
    if (!handler) return { status: 204, outcome: 'ignored' };
    try {
      const object = event.test ? undefined : objectOf(event);
      const outcome = object
        ? await inTurn(object, () => placed(event, object, handler))
        : await unplaced(event, handler);
      return { status: 204, outcome };
    } catch (error) {
      return { status: 500, outcome: 'failed', error };
    }
  };
}

const run =
  <T>(event: UnknownEvent, handler: Handler<UnknownEvent, T>) =>
  async (transaction: T): Promise<void> => {
    await handler(event, transaction);
  };

/** The handler of a name. Its event has the data that its type wants, since the name decides both. */
const handlerOf = <T>(on: WebhookHandlers<T>, type: string): Handler<UnknownEvent, T> | undefined =>
  (Object.hasOwn(on, type) ? (on[type as EmittedEventName] as Handler<UnknownEvent, T> | undefined) : undefined) ??
  on.default;

/** Runs what has the same name one after another, as it comes, whatever becomes of the one before. */
function turns() {
  const last = new Map<string, Promise<unknown>>();
  return async <R>(name: string, run: () => Promise<R>): Promise<R> => {
    const turn = (last.get(name) ?? Promise.resolve()).then(run);
    const settled = turn.catch(() => undefined);
    last.set(name, settled);
    try {
      return await turn;
    } finally {
      if (last.get(name) === settled) last.delete(name);
    }
  };
}

/** Sequences in memory, of the objects that had an event last: at most `most`. */
export function memoryOrder<T = void>(most = 100_000): WebhookOrder<T> {
  const sequences = new Map<string, number>();
  const last = (object: string) => sequences.get(object) ?? 0;
  return {
    last,
    async advance(place, effect) {
      // no transaction: T is void here, or has a default in the handlers
      await effect(undefined as T);
      if (!place) return true;
      sequences.delete(place.object);
      sequences.set(place.object, place.sequence);
      for (const oldest of sequences.keys()) {
        if (sequences.size <= most) break;
        sequences.delete(oldest);
      }
      return true;
    },
  };
}
