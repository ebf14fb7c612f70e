import type { MerchantMetric, UsageEventInput } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Caller, Db, Reader } from '@recur/platform';
import { metricsByCode } from '../../customers/catalog.js';
import { findUsers, type UserKey } from '../../customers/users.js';
import { eventValue } from '../domain/aggregation.js';
import { aggregationOf } from '../domain/counter.js';

/** An event whose user and metric are found, ready to be counted. */
export interface Incoming {
  userId: number;
  metric: MerchantMetric;
  externalEventId: string;
  /** 0 for the time at which it is counted. */
  eventTime: number;
  value: bigint;
  uniqueId: string;
  properties: string;
  /** 0 for any. */
  productId: number;
}

/** `asked`: copies that one request may have refreshed; events beyond it are told to try again. */
const limits = { asked: 100, atOnce: 8 } as const;

type ResolvedNames = { users: ReadonlyMap<string, number>; metrics: ReadonlyMap<string, MerchantMetric> };
interface Missing {
  copy: 'users' | 'metrics';
  id: number | Readonly<Record<string, string>>;
  rejection: Rejected;
}

/** Finds users and metrics of events in the copies; what is missing there is asked of its owner, outside a transaction. */
export async function resolve(
  db: Db,
  caller: Caller,
  events: readonly UsageEventInput[],
): Promise<(Incoming | Rejected)[]> {
  let found = await db.read(caller, reader => lookUp(reader, events));
  const missing = missingIn(events, found);
  const failed = new Map<string, Rejected>();
  if (missing.size > 0) {
    const asked = [...missing].slice(0, limits.asked);
    for (const [key] of [...missing].slice(limits.asked)) failed.set(key, new Rejected('dependency_away'));
    for (let at = 0; at < asked.length; at += limits.atOnce) {
      await Promise.all(
        asked.slice(at, at + limits.atOnce).map(([key, { copy, id }]) =>
          db.refresh(copy, id, caller).catch(error => {
            if (!(error instanceof Rejected)) throw error;
            failed.set(key, error);
          }),
        ),
      );
    }
    found = await db.read(caller, reader => lookUp(reader, events));
  }
  return events.map(event => incoming(event, found, failed));
}

/** Like `resolve`, with the copies alone: without the events of which they lack the user or the metric. */
export async function resolveKnown(
  db: Db,
  caller: Caller,
  events: readonly UsageEventInput[],
): Promise<ReadonlyMap<UsageEventInput, Incoming | Rejected>> {
  if (events.length === 0) return new Map();
  const found = await db.read(caller, reader => lookUp(reader, events));
  const known = events.filter(event => found.users.has(userKey(event)) && found.metrics.has(event.metricCode));
  return new Map(known.map(event => [event, incoming(event, found, new Map())]));
}

async function lookUp(reader: Reader, events: readonly UsageEventInput[]): Promise<ResolvedNames> {
  const keys = new Map(events.map(event => [userKey(event), eventUserKey(event)]));
  const [users, metrics] = await Promise.all([
    findUsers(reader, keys),
    metricsByCode(
      reader,
      events.map(({ metricCode }) => metricCode),
    ),
  ]);
  return { users, metrics };
}

function missingIn(events: readonly UsageEventInput[], { users, metrics }: ResolvedNames): Map<string, Missing> {
  const missing = new Map<string, Missing>();
  for (const event of events) {
    const { userId, externalUserId, email, metricCode } = event;
    const user = userKey(event);
    if (!users.has(user)) {
      const id: Missing['id'] = userId || (externalUserId ? { externalUserId } : { email });
      missing.set(user, { copy: 'users', id, rejection: new Rejected('user_not_found') });
    }
    if (!metrics.has(metricCode)) {
      const rejection = new Rejected('metric_not_found');
      missing.set(metricKey(metricCode), { copy: 'metrics', id: { code: metricCode }, rejection });
    }
  }
  return missing;
}

function incoming(
  event: UsageEventInput,
  { users, metrics }: ResolvedNames,
  failed: ReadonlyMap<string, Rejected>,
): Incoming | Rejected {
  const { metricCode, externalEventId, eventTime, metricProperties, productId } = event;
  const userId = users.get(userKey(event));
  if (userId === undefined) return failed.get(userKey(event)) ?? new Rejected('user_not_found');
  const metric = metrics.get(metricCode);
  if (!metric) return failed.get(metricKey(metricCode)) ?? new Rejected('metric_not_found');
  try {
    const of = { aggregation: aggregationOf(metric), property: metric.aggregationProperty };
    const properties = Object.keys(metricProperties).length === 0 ? '' : JSON.stringify(metricProperties);
    return { userId, metric, externalEventId, eventTime, ...eventValue(of, event), properties, productId };
  } catch (error) {
    if (error instanceof Rejected) return error;
    throw error;
  }
}

const eventUserKey = ({ userId, externalUserId, email }: UsageEventInput): UserKey =>
  userId !== 0 ? { userId } : externalUserId !== '' ? { externalUserId } : { email };
const userKey = ({ userId, externalUserId, email }: UsageEventInput) =>
  userId !== 0 ? `id ${userId}` : externalUserId !== '' ? `external ${externalUserId}` : `email ${email}`;
const metricKey = (code: string) => `metric ${code}`;
