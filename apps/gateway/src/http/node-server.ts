import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import { Server } from 'node:net';
import type { Duplex } from 'node:stream';

// The one place that knows how Node's HTTP server works inside. Tried on Node 20 and 26; drain.test.ts and edge.test.ts
// fail where a later Node behaves otherwise.

/** The last response begun on each connection. Node keeps the same in the private `socket._httpMessage`. */
const responses = new WeakMap<Duplex, ServerResponse>();

/** Remembers the responses of a server's connections, so that `responseDueOn` finds them. */
export function rememberResponses(server: HttpServer): void {
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    responses.set(socket, response);
  });
}

/** The response that a connection's last request still waits for. */
export function responseDueOn(socket: Duplex): ServerResponse | undefined {
  const response = responses.get(socket);
  return response?.writableFinished ? undefined : response;
}

/**
 * Stops taking connections, and resolves when the last one has ended. Uses `close` of `net.Server`: that of `http.Server`
 * (since Node 19) also closes idle connections at once, and a client that is just sending a request on one would get a
 * reset instead of an answer. It leaves Node's timer for slow requests running, which is wanted while draining.
 */
export function stopListening(server: HttpServer): Promise<void> {
  return new Promise(resolve => Server.prototype.close.call(server, () => resolve()));
}
