import type { TemporaryStack } from '../local/temporary.js';
import { processorSeconds } from './machine.js';
import type { Measure } from './measure.js';
import { startSink } from './sink.js';
import { addBacklog, drainRate, notificationDatabase, subscribe } from './webhook-backlog.js';
import { bareLoop } from './webhooks.js';

const merchants = 4;
const endpointsEach = 25;
const endpoints = merchants * endpointsEach;
const small = 20_000;
const large = 200_000;
const withinMs = 600_000;

interface Drained {
  perSecond: number;
  /** Processor time per delivery, in microseconds. */
  notification: number;
  postgres: number;
}

/**
 * Webhooks per second, signed, delivered and recorded, with 20 000 and with 200 000 waiting on 100 endpoints. The limit is
 * a loop that only signs the same body and posts it to the same sink. The database gets no help that a deployment does not
 * get: no vacuum, analyze or checkpoint. A first backlog of 20 000, not measured, warms the processes up.
 */
export async function webhookBurst(stack: TemporaryStack): Promise<{ measure: Measure; more: string }> {
  const sink = await startSink();
  const database = await notificationDatabase(stack);
  try {
    await subscribe(stack, sink.url, merchants, endpointsEach);
    const before = await bareLoop(sink.url);
    await sink.heard();
    const drain = async (name: string, waiting: number): Promise<Drained> => {
      // in one statement, so that the whole backlog becomes visible at once, to processes that are warm
      await addBacklog(database, sink.url, { name, eventsEach: waiting / endpoints });
      const { postgres: server, notification: pid } = stack.facts().pids as { postgres: number; notification: number };
      const [postgres, notification] = [processorSeconds(server), processorSeconds(pid)];
      const perSecond = await drainRate(database, sink, waiting, withinMs);
      const { requests, different } = await sink.heard();
      if (requests !== waiting || different !== waiting) {
        throw new Error(`of ${waiting} webhooks ${different} came, ${requests} times`);
      }
      return {
        perSecond,
        notification: ((processorSeconds(pid) - notification) / waiting) * 1e6,
        postgres: ((processorSeconds(server) - postgres) / waiting) * 1e6,
      };
    };
    await drain('a', small);
    const few = await drain('b', small);
    const many = await drain('c', large);
    const limit = (before + (await bareLoop(sink.url))) / 2;
    const told = ({ perSecond, notification, postgres }: Drained) =>
      `${perSecond.toFixed(0)}/s (${(perSecond / limit).toFixed(2)} of the loop), processor time per delivery ${notification.toFixed(0)} µs in notification and ${postgres.toFixed(0)} µs in PostgreSQL`;
    return {
      measure: { value: many.perSecond, unit: '1/s', limit, ratio: many.perSecond / limit },
      more: `20 000 waiting: ${told(few)}; 200 000 waiting: ${told(many)}`,
    };
  } finally {
    await database.end();
    sink.close();
  }
}
