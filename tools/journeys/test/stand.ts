import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from '@jest/globals';
import { services } from '@recur/contracts';
import { apps } from '../../local/apps.js';
import { alive } from '../../local/record.js';
import { dependencies } from '../../local/stack.js';
import { temporaryStack } from '../../local/temporary.js';
import { databases, settled } from '../oracle.js';
import { type Receiver, startReceiver } from '../receiver.js';
import { openShop, type Shop } from '../shop.js';
import { type Answer, Wire } from '../wire.js';

/**
 * The apps' settings whenever one is started here: no test is about the rate unless it says so, and what was under way
 * in a process that is killed is given out again after moments, not after 30 and 45 seconds. There are no automatic mails:
 * a PDF of every invoice that is made would take longer than the tests.
 */
const usual = {
  RATE_PER_SECOND: '100000',
  RATE_BURST: '100000',
  USER_RATE_PER_SECOND: '100000',
  USER_RATE_BURST: '100000',
  SIGN_IN_PER_MINUTE: '100000',
  SIGN_IN_PER_ADDRESS: '100000',
  SIGN_IN_PER_EMAIL: '100000',
  EVENT_ACK_SECONDS: '3',
  WEBHOOK_LEASE_SECONDS: '2',
  MAIL_FOLDER: '',
} as const;

/** A whole system of its own for one test file, with a look into its databases. `own` is settings of single apps. */
export async function startStand(own: Parameters<typeof temporaryStack>[1] = {}) {
  Object.assign(process.env, usual);
  const mailFolder = mkdtempSync(path.join(tmpdir(), 'recur-mails-'));
  const stack = await temporaryStack(() => undefined, {
    ...own,
    identity: { MAIL_FOLDER: mailFolder, ...own.identity },
  });
  const { pool, ask, close } = databases(stack.facts());
  const receivers: Receiver[] = [];
  return {
    stack,
    pool,
    ask,
    /** The folder to which sign-in codes are written as e-mails. */
    mailFolder,
    /** A merchant of its own that is ready to sell, with a receiver of all its webhooks. */
    async shop(name: string): Promise<Shop & { wire: Wire; receiver: Receiver; apiKey: string }> {
      const [merchant, receiver] = await Promise.all([stack.merchant(name), startReceiver()]);
      receivers.push(receiver);
      const { baseUrl } = stack.facts();
      const { apiKey } = merchant;
      const shop = await openShop(baseUrl, merchant, receiver);
      return { ...shop, wire: new Wire(baseUrl, apiKey), receiver, apiKey };
    },
    /** The contents of every table, or those of one merchant, as one value each: equal ones mean that nothing changed. */
    async contents(merchantId?: number): Promise<Record<string, string>> {
      const sums: Record<string, string> = {};
      for (const service of services) {
        const tables = await ask(
          service,
          `select table_name, bool_or(column_name = 'merchant_id') as of_merchant from information_schema.columns
           where table_schema = 'public' group by table_name`,
        );
        for (const { table_name: table, of_merchant } of tables) {
          if (merchantId !== undefined && !of_merchant) continue;
          const rows = `"${table}" t ${merchantId === undefined ? '' : `where merchant_id = ${merchantId}`}`;
          const text = `select md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as sum from ${rows}`;
          sums[`${service}.${table}`] = String((await ask(service, text))[0]?.sum);
        }
      }
      return sums;
    },
    /** Starts what a test that failed half-way has left stopped, so that the next one fails for reasons of its own. */
    async mend(): Promise<void> {
      const running = alive(stack.home);
      for (const part of [...dependencies, ...apps]) {
        if (!running.has(part)) await stack.start(part);
      }
    },
    /** Ends the leases of a billing that was killed, and lets its calls have been sent a minute ago. */
    async endLeases(): Promise<void> {
      await ask(
        'billing',
        `with ended as (update due_work set lease_until = extract(epoch from now()) where lease is not null)
          update payments set sent_time = sent_time - 60 where outcome = 'sending'`,
      );
    },
    async quiet(): Promise<void> {
      expect(await settled(ask)).toEqual([]);
    },
    async close(): Promise<void> {
      for (const receiver of receivers) await receiver.close();
      await close();
      await stack.close();
      rmSync(mailFolder, { recursive: true, force: true });
    },
  };
}

export type Stand = Awaited<ReturnType<typeof startStand>>;

let shared: Promise<Stand> | undefined;

/**
 * The one stand of journeys that stop nothing. Its logs say everything, since some of them look there for secrets. `own` is
 * settings of single apps, of the first one to ask.
 */
export function sharedStand(own: Parameters<typeof startStand>[0] = {}): Promise<Stand> {
  shared ??= startStand(Object.fromEntries(apps.map(app => [app, { LOG_LEVEL: 'trace', ...own[app] }])));
  return shared;
}

/** The envelope of a failure, whole and in order. */
export function expectFailure({ status, headers, text, envelope }: Answer, http: number, code: number, type: string) {
  expect({ status, code: envelope.code, type: envelope.error?.type }).toEqual({ status: http, code, type });
  expect(Object.keys(envelope)).toEqual(['code', 'data', 'merchantId', 'message', 'redirect', 'requestId', 'error']);
  expect(envelope).toMatchObject({ data: {}, redirect: '', requestId: headers.get('x-request-id') });
  expect(envelope.message).not.toBe('');
  expect(JSON.stringify(envelope)).toBe(text);
  if (http === 503 || http === 429) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
}

/** An answer without what is told apart by request. */
export const withoutRequestId = ({ text, envelope }: Answer) => text.replace(envelope.requestId, '');

export const times = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));

export const pause = () => new Promise(resolve => setTimeout(resolve, 50));

/** Asks again until the answer is as wanted; the last one is what the test shows when it never is. */
export async function until<T = Answer>(ask: () => Promise<T>, wanted: (answer: T) => boolean): Promise<T> {
  const deadline = Date.now() + 120_000;
  for (;;) {
    const answer = await ask();
    if (wanted(answer) || Date.now() > deadline) return answer;
    await pause();
  }
}
