import { type EventName, emptyOf, events as registry } from '@recur/contracts';
import type { Reader, Tx } from '@recur/platform';

/** `read` exceeds `samples` because some of the bodies may be examples. */
const limits = { samples: 3, read: 20, lookedAt: 1_000, sampleBytes: 100_000 } as const;

const newest = `select body from (select type, body from events where merchant_id = $1
    order by event_id desc limit ${limits.lookedAt}) recent
  where type = $2 and length(body) < ${limits.sampleBytes} limit ${limits.read}`;

/** The newest bodies of an event that were sent to any endpoint of the merchant, or else one example. */
export async function sampleBodies(reader: Reader, type: string): Promise<object[]> {
  const rows = await reader.query(newest, [reader.merchantId, type]);
  const bodies = rows.map(({ body }) => JSON.parse(String(body)) as { test?: true });
  const real = bodies.filter(({ test }) => test === undefined).slice(0, limits.samples);
  return real.length > 0 ? real : [JSON.parse(exampleOf(type, reader))];
}

/** The body of an example: the object is empty, and its version is 0. */
export function exampleOf(type: string, { merchantId, now }: Pick<Tx, 'merchantId' | 'now'>): string {
  const data = { ...emptyOf(registry[type as EventName].data), merchantId };
  const timestamp = new Date(now * 1000).toISOString();
  return JSON.stringify({ type, timestamp, merchantId, sequence: 0, test: true, data });
}
