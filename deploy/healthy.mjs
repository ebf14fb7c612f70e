/**
 * Exits 0 when the app of this container answers 200 at a path, for health checks in an image that has no curl:
 * `node healthy.mjs /readyz`.
 */
import { argv, env } from 'node:process';

const [path = '/livez'] = argv.slice(2);
const url = `http://127.0.0.1:${env.OPS_PORT || 3001}${path}`;
const isHealthy = await fetch(url, { signal: AbortSignal.timeout(4_000), redirect: 'error' }).then(
  ({ status }) => status === 200,
  () => false,
);
process.exit(isHealthy ? 0 : 1);
