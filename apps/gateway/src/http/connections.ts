import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf } from '../callers/address.js';
import type { GatewayConfig } from '../config.js';

type ConnectionSettings = Pick<GatewayConfig, 'MAX_CONNECTIONS' | 'MAX_CONNECTIONS_PER_ADDRESS' | 'TRUST_PROXY'>;

/**
 * Bounds the open connections of a server, in all and of one address (an IPv6 address counts by its /64). One too many is
 * closed at once, before anything is read from it. Behind a trusted proxy every connection is the proxy's, which has to
 * bound those of one client itself.
 */
export function limitConnections(server: Server, settings: ConnectionSettings): void {
  const { MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS, TRUST_PROXY } = settings;
  server.maxConnections = MAX_CONNECTIONS;
  if (TRUST_PROXY) return;
  const open = new Map<string, number>();
  // before the HTTP server's own listener, which would start to read
  server.prependListener('connection', (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? '');
    const count = open.get(network) ?? 0;
    if (count >= MAX_CONNECTIONS_PER_ADDRESS) {
      socket.destroy();
      return;
    }
    open.set(network, count + 1);
    socket.once('close', () => {
      const left = (open.get(network) ?? 1) - 1;
      if (left === 0) open.delete(network);
      else open.set(network, left);
    });
  });
}
