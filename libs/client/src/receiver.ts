import type { WebhookEventName } from '@recur/contracts';
import { type Kind, kindOf, type Named, objectOf } from './objects.js';
import {
  assertSecrets,
  type UnknownEvent,
  type Verified,
  verifyWebhook,
  type WebhookEvent,
  type WebhookHeaders,
} from './webhook.js';

/** Where something stands that is done once (`event ev_…` at 1), or forwards (`7 invoice in_…`, an object of merchant 7). */
export interface WebhookPlace {
  object: string;
  sequence: number;
}

/** Keeps the highest sequence of each place. */
export interface WebhookOrder<T = void> {
  /**
   * Runs an effect and records its place, or does neither: false where one not below it is recorded already. In a database
   * both are in one transaction, which the effect is given.
   */
  advance(place: WebhookPlace, effect: (transaction: T) => Promise<void>): Promise<boolean>;
}

type Handler<E, T> = (event: E, transaction: T) => unknown;

/** Handlers of events by name; `default` gets those without a handler, and those of later versions. */
export type WebhookHandlers<T = void> = { [N in WebhookEventName]?: Handler<WebhookEvent<N>, T> } & {
  default?: Handler<UnknownEvent, T>;
};
/**
 * Handlers of objects by kind, such as `subscription`: the data of their events is the whole state. Reports about payments
 * have none.
 */
export type WebhookFollowers<T = void> = { [K in Exclude<Kind, 'paymentReport'>]?: Handler<WebhookEvent<Named<K>>, T> };

export interface ReceiverOptions<T> {
  /** The endpoint's secrets, two while one is being replaced; or how to get the present ones. */
  secrets: readonly string[] | (() => readonly string[]);
  /** For what happened: each event once, in the order of arrival. */
  on?: WebhookHandlers<T>;
  /** For the state of objects: forwards only. An event that arrives after a later one of its object is not handed on. */
  latest?: WebhookFollowers<T>;
  /** Absent: in memory, for one process until it ends. */
  order?: WebhookOrder<T>;
  /** How long handlers may take before recur is told to try again, which gives up after 15 s. Default: 12 s. */
  timeoutMs?: number;
}

/** The outcome of a delivery. `status` is the response that recur expects: it tries again after 500. */
export type Receipt =
  | { status: 204; outcome: 'handled' | 'stale' | 'ignored' }
  | { status: 400; outcome: Extract<Verified, { ok: false }>['reason'] }
  | { status: 500; outcome: 'failed'; error: unknown };

type Receiver = (delivery: { body: string; headers: WebhookHeaders }) => Promise<Receipt>;

interface Task<T> {
  place: WebhookPlace;
  handler: Handler<UnknownEvent, T>;
}

/**
 * A receiver of webhooks: verifies a delivery, and has its event handled. What has one place is handled one after another;
 * a place is recorded when its handler has succeeded, so that one that threw is tried again, and it alone. `body` is the
 * text as received. Never rejects. Throws TypeError where a secret is none.
 */
export function webhookReceiver(options: ReceiverOptions<void>): Receiver;
export function webhookReceiver<T>(options: ReceiverOptions<T> & { order: WebhookOrder<T> }): Receiver;
export function webhookReceiver<T>(options: ReceiverOptions<T>): Receiver {
  // without an order, T is void
  const { secrets, on = {}, latest = {}, order = memoryOrder() as WebhookOrder<T>, timeoutMs = 12_000 } = options;
  if (typeof secrets !== 'function') assertSecrets(secrets);
  const inTurn = turns();

  async function handle(event: UnknownEvent, tasks: readonly Task<T>[], isOver: () => boolean): Promise<boolean> {
    let isNew = false;
    for (const { place, handler } of tasks) {
      const effect = async (transaction: T) => void (await handler(event, transaction));
      // a turn that comes too late is left to the next attempt
      const run = async () => !isOver() && (await order.advance(place, effect));
      if (await inTurn(place.object, run)) isNew = true;
    }
    return isNew;
  }

  return async ({ body, headers }) => {
    try {
      const current = typeof secrets === 'function' ? secrets() : secrets;
      const verified = await verifyWebhook({ body, headers, secrets: current });
      if (!verified.ok) return { status: 400, outcome: verified.reason };
      const tasks = tasksOf<T>(verified.event, on, latest);
      if (tasks.length === 0) return { status: 204, outcome: 'ignored' };
      const isNew = await within(timeoutMs, isOver => handle(verified.event, tasks, isOver));
      return { status: 204, outcome: isNew ? 'handled' : 'stale' };
    } catch (error) {
      return { status: 500, outcome: 'failed', error };
    }
  };
}

/** The handlers of an event, with its places. Its data is what they want, since the name decides both. */
function tasksOf<T>(event: UnknownEvent, on: WebhookHandlers<T>, latest: WebhookFollowers<T>): Task<T>[] {
  const { id, type, sequence, test } = event;
  const tasks: Task<T>[] = [];
  const kind = kindOf(type);
  const object = objectOf(event);
  const follower = kind && (latest as Partial<Record<Kind, Handler<UnknownEvent, T>>>)[kind];
  // the object of a sample is blank
  if (object !== undefined && follower && !test) tasks.push({ place: { object, sequence }, handler: follower });
  const named = Object.hasOwn(on, type) ? (on[type as WebhookEventName] as Handler<UnknownEvent, T>) : undefined;
  const handler = named ?? on.default;
  if (handler) tasks.push({ place: { object: `event ${id}`, sequence: 1 }, handler });
  return tasks;
}

/** The result of a run. Rejects where it takes longer, which the run is told by `isOver`. */
async function within<R>(ms: number, run: (isOver: () => boolean) => Promise<R>): Promise<R> {
  let isOver = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      isOver = true;
      reject(new Error(`not handled within ${ms} ms`));
    }, ms);
  });
  try {
    return await Promise.race([run(() => isOver), late]);
  } finally {
    clearTimeout(timer);
  }
}

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

/** Sequences in memory, of the places that were advanced last: at most `most`. */
export function memoryOrder(most = 100_000): WebhookOrder {
  const sequences = new Map<string, number>();
  const isPast = ({ object, sequence }: WebhookPlace) => sequence <= (sequences.get(object) ?? 0);
  return {
    async advance(place, effect) {
      if (isPast(place)) return false;
      await effect();
      // another receiver with this order may have been faster
      if (isPast(place)) return true;
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
