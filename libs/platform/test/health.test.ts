import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { serveHealth, told } from '../src/runtime/health.js';

let close: () => void = () => undefined;
afterEach(() => close());

/** What /readyz answers to these checks and details. */
async function ready(checks: Record<string, boolean | string>, details: Parameters<typeof told>[0]) {
  const server = await serveHealth('127.0.0.1', 0, async () => ({ ...checks, ...(await told(details)) }));
  close = () => server.close();
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
  return [answer.status, await answer.json()];
}

describe('what a service tells beside its checks', () => {
  const details = { age: async () => 'stale', size: () => Promise.reject(new Error('away')) };

  it('stands with them, and never makes it unready', async () => {
    expect(await ready({ database: true }, details)).toEqual([200, { database: true, age: 'stale', size: 'unknown' }]);
  });

  it('does not make it ready either', async () => {
    expect(await ready({ database: false }, details)).toMatchObject([503, { database: false, age: 'stale' }]);
  });
});
