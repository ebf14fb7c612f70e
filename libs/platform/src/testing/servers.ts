import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';

/** A server on a free port of this machine, with the sockets that it was given, and its end. */
export interface Listening {
  port: number;
  url: string;
  sockets: Socket[];
  server: Server;
  close(): Promise<void>;
}

/** An HTTP server on 127.0.0.1. */
export function http(handler: RequestListener): Promise<Listening> {
  return listen(createServer(handler), '127.0.0.1', 0);
}

/** A TCP server on 127.0.0.1 that does with each connection what it is told. */
export function tcp(onSocket: (socket: Socket) => void): Promise<Listening> {
  return listen(createTcpServer(onSocket), '127.0.0.1', 0);
}

/** Counts who connects, on every address of this machine; says nothing. */
export function canary(): Promise<Listening> {
  return listen(createTcpServer(), '::', 0).catch(() => listen(createTcpServer(), '0.0.0.0', 0));
}

async function listen(server: Server, host: string, port: number): Promise<Listening> {
  const sockets: Socket[] = [];
  server.on('connection', socket => {
    socket.on('error', () => {});
    sockets.push(socket);
  });
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return {
    port: address.port,
    url: `http://127.0.0.1:${address.port}/`,
    sockets,
    server,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Waits until a socket is closed, if it is not already. */
export async function closed(socket: Socket | undefined): Promise<void> {
  if (socket && !socket.destroyed) await new Promise<void>(done => socket.once('close', () => done()));
}
