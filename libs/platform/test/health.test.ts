import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { systemClock } from '../src/runtime/clock.js';
import { metricsText, serveHealth, told } from '../src/runtime/health.js';

let close: () => void = () => undefined;
afterEach(() => close());

/** What /readyz answers to these checks and details. */
async function ready(checks: Record<string, boolean | string>, details: Parameters<typeof told>[0]) {
  const readiness = async () => ({ ...checks, ...(await told(details)) });
  const server = await serveHealth('127.0.0.1', 0, readiness, systemClock);
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

describe('the port for operators', () => {
  it('compares paths as they were sent', async () => {
    const server = await serveHealth('127.0.0.1', 0, () => ({ serving: true }), systemClock);
    close = () => server.close();
    const { port } = server.address() as AddressInfo;
    const statuses = ['/livez', '/readyz', '/metrics', '/%6detrics', '/metrics/', '/metrics?x', '/toString'].map(
      async path => (await fetch(`http://127.0.0.1:${port}${path}`)).status,
    );
    expect(await Promise.all(statuses)).toEqual([200, 200, 200, 404, 404, 404, 404]);
  });

  it('makes the text of the metrics once a second, however many ask', async () => {
    let nowMs = 0;
    let made = 0;
    const registry = { metrics: async () => `made ${++made}` };
    const text = metricsText(registry, { wall: () => nowMs });
    expect(await Promise.all([text(), text()])).toEqual(['made 1', 'made 1']);
    nowMs = 999;
    expect(await text()).toBe('made 1');
    nowMs = 1_000;
    expect(await text()).toBe('made 2');
  });
});
