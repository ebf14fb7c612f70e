import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Bus, createLog, systemClock } from '@recur/platform';
import type { TemporaryStack } from '../local/temporary.js';
import { type Load, load } from './load.js';

/** In whose place the echo answers; the commands of each service go the same way. */
const service = 'catalog';
const operation = { path: '/merchant/product/activate', body: '{"productId":1}' };

/**
 * The most that any operation can reach: one that answers its input, through the same gateway and NATS, from a process
 * of its own that stands in a service's place for as long as this takes.
 */
export async function echoRate(stack: TemporaryStack, connections: number, seconds: number): Promise<Load> {
  const { baseUrl, apiKey, services } = stack.facts();
  await stack.stop(service);
  const echo = fork(fileURLToPath(import.meta.url), [services.nats.url]);
  try {
    await once(echo, 'message');
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    return await load(baseUrl, connections, seconds, () => ({ method: 'POST', headers, ...operation }));
  } finally {
    echo.kill();
    await stack.start(service);
  }
}

/** The echo itself: this file as a process. */
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const bus = await Bus.connect(process.argv[2] ?? '', 'echo', systemClock, createLog('echo', 'silent'));
  await bus.serve(service, async (_, bytes) => ({ ok: true, bytes }));
  process.send?.('ready');
}
