import { once } from 'node:events';
import type { ServerHttp2Session } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { Server } from 'node:tls';

/** A key and a certificate of its own for 127.0.0.1, localhost and hooks.example, valid until 2126. For tests only. */
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg2qfO7sktSCq+y+LD
ZHXw9Rre2S7sFEzc6aw3QBkg0cGhRANCAATdFwv6x5t3ymYdWkAtjzFe9GQX8G2t
neQatjySN30BU8BTFiSwUlCYe9umzkfpE/AwVghuiyHK0v/lop9Oo45K
-----END PRIVATE KEY-----`;
export const certificate = `-----BEGIN CERTIFICATE-----
MIIBhTCCASugAwIBAgIBATAKBggqhkjOPQQDAjAVMRMwEQYDVQQDDApyZWN1ciB0
ZXN0MCAXDTAwMDEwMTAwMDAwMFoYDzIxMjYwMTAxMDAwMDAwWjAVMRMwEQYDVQQD
DApyZWN1ciB0ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE3RcL+sebd8pm
HVpALY8xXvRkF/BtrZ3kGrY8kjd9AVPAUxYksFJQmHvbps5H6RPwMFYIboshytL/
5aKfTqOOSqNqMGgwDwYDVR0TAQH/BAUwAwEB/zA2BgNVHREELzAthwR/AAABggls
b2NhbGhvc3SCCyoubG9jYWxob3N0gg1ob29rcy5leGFtcGxlMB0GA1UdDgQWBBRK
GNsADii5VOEx/HowA07sU7YSmTAKBggqhkjOPQQDAgNIADBFAiEA/+dYjGRpCgRT
ny8SZEqirgGOR2+ibH7niYgJ01uZOA4CIFZPMQ71YhYrEpgHwYB63QSviGNQm01p
U2visdrxERdt
-----END CERTIFICATE-----`;

/** Options of a TLS server on this machine. */
export const identity = { key, cert: certificate };

/** Makes a TLS server listen on 127.0.0.1; with its connections and its HTTP/2 sessions, in order. */
export async function listening<S extends Server>(server: S) {
  const sockets: Socket[] = [];
  const sessions: ServerHttp2Session[] = [];
  server.on('secureConnection', (socket: Socket) => {
    socket.on('error', () => {});
    sockets.push(socket);
  });
  server.on('session', (session: ServerHttp2Session) => {
    session.on('error', () => {});
    sessions.push(session);
  });
  server.on('sessionError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  };
  return { port, url: `https://127.0.0.1:${port}/`, server, sockets, sessions, close };
}
