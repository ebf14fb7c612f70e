import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A balancer like a Service of Kubernetes: new connections go to the replicas in turn, old ones stay where they are. */
export async function startBalancer(first: number) {
  let ports: readonly number[] = [first];
  let turn = 0;
  const sockets = new Set<Socket>();
  const server = createServer(client => {
    const port = ports[turn++ % ports.length] ?? first;
    const replica = connect(port, '127.0.0.1');
    for (const [one, other] of [
      [client, replica],
      [replica, client],
    ] as const) {
      sockets.add(one);
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.once('close', () => sockets.delete(one));
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the balancer has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    /** From now on new connections go to these ports. */
    serve(...next: number[]): void {
      ports = next;
    },
    async close(): Promise<void> {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}

export type Balancer = Awaited<ReturnType<typeof startBalancer>>;
