import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}
/** A scripted answer; `cut` ends the connection without one, `silent` leaves it open. */
export type Scripted = { status: number; headers?: Record<string, string>; body: string } | 'cut' | 'silent';

/** An HTTP server on loopback that answers by script, in turn, and keeps what it received. */
export async function scriptedServer(answers: readonly Scripted[]) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { method = '', url = '', headers } = request;
    received.push({ method, url, headers, body });
    const answer = answers[Math.min(received.length, answers.length) - 1] ?? 'cut';
    if (answer === 'silent') return;
    if (answer === 'cut') return void request.socket.destroy();
    response.writeHead(answer.status, answer.headers).end(answer.body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    server.closeAllConnections();
    await new Promise(done => server.close(done));
  };
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/`, received, close };
}

/** A `fetch` that answers by path, each list in turn and its last for ever, whatever the host is; `calls` are those that came. */
export function scriptedFetch(answers: Readonly<Record<string, readonly Scripted[]>>) {
  const calls: { path: string; key: string | null }[] = [];
  const scripted: typeof fetch = async (url, options) => {
    const { pathname: path } = new URL(String(url));
    const before = calls.filter(call => call.path === path).length;
    calls.push({ path, key: new Headers(options?.headers).get('idempotency-key') });
    const answer = answers[path]?.[before] ?? answers[path]?.at(-1) ?? 'cut';
    if (typeof answer === 'string') throw new TypeError('there is no answer');
    return new Response(answer.body, { status: answer.status, headers: answer.headers });
  };
  return { fetch: scripted, calls };
}

/** A successful envelope. */
export const success = (data: object, headers: Record<string, string> = {}): Scripted => ({
  status: 200,
  headers,
  body: JSON.stringify({ code: 0, data, merchantId: 7, message: '', redirect: '', requestId: 'req_1' }),
});

/** A refusal. */
export const refusal = (
  status: number,
  code: number,
  type: string,
  headers: Record<string, string> = {},
): Scripted => ({
  status,
  headers,
  body: JSON.stringify({
    code,
    data: {},
    merchantId: 7,
    message: `because of ${type}`,
    redirect: '',
    requestId: 'req_2',
    error: { type, issues: type === 'invalid_parameters' ? [{ path: '/email', message: 'email is required' }] : [] },
  }),
});
