import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import type { Clock } from './clock.js';
import { metrics } from './telemetry.js';

/** The body of /readyz: every check by name, and whether all of them pass. */
export type Readiness = () => Promise<Record<string, boolean | string>> | Record<string, boolean | string>;

export const isReady = (checks: Record<string, boolean | string>) =>
  Object.values(checks).every(value => value !== false);

/** Details shown beside the checks; one that fails is `unknown` and does not affect readiness. */
export async function told(details: Readonly<Record<string, () => Promise<string>>>): Promise<Record<string, string>> {
  const telling = Object.entries(details).map(async ([name, tell]) => [name, await tell().catch(() => 'unknown')]);
  return Object.fromEntries(await Promise.all(telling));
}

/** Milliseconds for which the text of /metrics is kept. */
const metricsKeptMs = 1_000;

/** The text of a registry, made at most once a second and never twice at once: making it blocks the event loop. */
export function metricsText(registry: Pick<Registry, 'metrics'>, clock: Pick<Clock, 'wall'>): () => Promise<string> {
  let text: Promise<string> | undefined;
  let madeMs = 0;
  return () => {
    const nowMs = clock.wall();
    if (text === undefined || nowMs - madeMs >= metricsKeptMs || nowMs < madeMs) {
      madeMs = nowMs;
      text = registry.metrics();
    }
    return text;
  };
}

/**
 * Serves operators on a port of their own: /livez (the event loop turns), /readyz and /metrics. A path is compared as it
 * was sent, percent signs included. Resolves when it listens; rejects when it cannot.
 */
export async function serveHealth(host: string, port: number, readiness: Readiness, clock: Clock): Promise<Server> {
  const text = metricsText(metrics, clock);
  const pages: Record<string, (response: ServerResponse) => Promise<void> | void> = {
    '/livez': response => void response.end('{"live":true}'),
    '/readyz': async response => {
      const checks = await readiness();
      response.writeHead(isReady(checks) ? 200 : 503, { 'content-type': 'application/json' });
      response.end(JSON.stringify(checks));
    },
    '/metrics': async response => {
      const body = await text();
      response.writeHead(200, { 'content-type': metrics.contentType });
      response.end(body);
    },
  };
  const answer = async ({ url = '' }: IncomingMessage, response: ServerResponse) => {
    const page = Object.hasOwn(pages, url) ? pages[url] : undefined;
    if (page === undefined) response.writeHead(404).end();
    else await page(response);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.writeHead(500).end());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return server;
}
