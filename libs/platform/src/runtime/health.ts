import { createServer, type Server } from 'node:http';
import { metrics } from './telemetry.js';

/** The body of /readyz: every check by name, and whether all of them pass. */
export type Readiness = () => Promise<Record<string, boolean | string>>;

export const isReady = (checks: Record<string, boolean | string>) =>
  Object.values(checks).every(value => value !== false);

/** Details shown beside the checks; one that fails is `unknown` and does not affect readiness. */
export async function told(details: Readonly<Record<string, () => Promise<string>>>): Promise<Record<string, string>> {
  const telling = Object.entries(details).map(async ([name, tell]) => [name, await tell().catch(() => 'unknown')]);
  return Object.fromEntries(await Promise.all(telling));
}

/** Serves /livez (the event loop turns), /readyz and /metrics. Resolves when it listens. */
export async function serveHealth(host: string, port: number, readiness: Readiness): Promise<Server> {
  const server = createServer(async (request, response) => {
    if (request.url === '/livez') {
      response.end('{"live":true}');
    } else if (request.url === '/readyz') {
      const checks = await readiness();
      response.writeHead(isReady(checks) ? 200 : 503, { 'content-type': 'application/json' });
      response.end(JSON.stringify(checks));
    } else if (request.url === '/metrics') {
      response.writeHead(200, { 'content-type': metrics.contentType });
      response.end(await metrics.metrics());
    } else {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return server;
}
