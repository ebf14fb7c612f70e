import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ModuleRef } from '@nestjs/core';
import { type In, newEndpoint } from '@recur/contracts';
import { newId } from '@recur/kernel';
import type { Event } from '@recur/platform';
import { http, MovableClock, testService } from '@recur/platform/testing';
import { Dispatcher, RANDOM } from '../src/deliveries/sending/dispatcher.js';
import { notification } from '../src/service.js';

/** Runs something 64 times at once. */
export const of64 = <T>(run: (at: number) => Promise<T>) => Promise.all(Array.from({ length: 64 }, (_, at) => run(at)));

export interface Received {
  path: string;
  headers: Record<string, string>;
  body: string;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;
const thanks: Answer = (_, response) => response.end('thanks');

/** The service on a fresh database, with a clock to move, a jitter of none unless told, and a receiver on this machine. */
export async function makeStand(env: Record<string, string> = {}) {
  let answer = thanks;
  let sequence = 0;
  let arrived = () => {};
  const received: Received[] = [];
  const merchant = { merchantId: 100 };
  const receiver = await http(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    received.push({ path: request.url ?? '', headers: request.headers as Record<string, string>, body });
    answer(request, response);
    arrived();
  });
  const clock = new MovableClock(Date.now());
  let jitter = () => 0.5;
  const random = { provide: RANDOM, useValue: () => jitter() };
  const t = await testService(
    { ...notification, providers: [...(notification.providers ?? []), random] },
    { clock, env: { REDIS_URL: process.env.TEST_REDIS_URL ?? '', WEBHOOK_ALLOW_LOOPBACK: 'true', ...env } },
  );
  const url = `${receiver.url}hook`;

  return {
    t,
    clock,
    url,
    received,
    receiver,
    merchant,
    /** Another merchant, who has nothing yet, and a receiver that heard nothing and thanks. */
    anew() {
      merchant.merchantId++;
      received.length = 0;
      answer = thanks;
      jitter = () => 0.5;
    },
    /** Numbers in [0, 1) from now on. */
    jitterWith(next: () => number) {
      jitter = next;
    },
    /** How the receiver answers from now on: as it is told, or with a status. */
    answerWith(next: Answer | number) {
      answer = typeof next === 'number' ? (_, response) => response.writeHead(next).end('no') : next;
    },
    /** Waits until what has arrived makes a condition true. */
    async until(condition: () => boolean): Promise<void> {
      while (!condition()) {
        await new Promise<void>(resolve => {
          arrived = resolve;
        });
      }
    },
    newOne: (over: Partial<In<typeof newEndpoint>> = {}) =>
      t.done(newEndpoint, { url, events: ['invoice.created'], ...over }, merchant),
    event: (over: Partial<Event> = {}): Event => ({
      id: newId('ev_', clock.wall(), randomBytes(10)),
      type: 'invoice.created',
      merchantId: merchant.merchantId,
      aggregate: 'invoice',
      aggregateId: `in_${++sequence}`,
      version: 1,
      at: 1_768_478_400,
      actor: { kind: 'system', id: '', display: 'system' },
      requestId: 'req_1',
      traceparent: '',
      data: { invoiceId: `in_${sequence}`, lines: [] },
      ...over,
    }),
    deliver: (endpointId: number) => t.app.get(Dispatcher).deliver(merchant.merchantId, endpointId),
    deliveriesOf: (endpointId: number) =>
      t.rows(
        'select state, attempts, next_at_ms, last_outcome from deliveries where endpoint_id = $1 order by delivery_id',
        [endpointId],
      ),
    /**
     * Does the due work of one kind, including what waits for its next round; other kinds wait. An item that a worker is
     * on stays as it is: a row written meanwhile would be lost to that worker, and wait for the end of its lease.
     */
    async work(kind: string): Promise<void> {
      await t.rows(
        `update due_work set due_at = case when kind = $1 then 0 else 99999999999 end
          where lease is null and due_at <> case when kind = $1 then 0 else 99999999999 end`,
        [kind],
      );
      await t.work.drain();
    },
    /** As if in another process: it knows nothing of what the service's own worker does. */
    anotherWorker: () => t.app.get(ModuleRef).create(Dispatcher),
    /** Moves the clock to the next attempt to an endpoint; false where nothing is due any more. */
    async untilDue(endpointId: number): Promise<boolean> {
      const [row] = await t.rows('select min(due_at_ms) as at from due where endpoint_id = $1 and not held', [
        endpointId,
      ]);
      if (row?.at == null) return false;
      clock.advance((Number(row.at) - clock.wall()) / 1000);
      return true;
    },
    async close() {
      await t.close();
      await receiver.close();
    },
  };
}

export type Stand = Awaited<ReturnType<typeof makeStand>>;
