import { once } from 'node:events';
import { createServer } from 'node:http';

/** A received POST. */
export interface Delivery {
  headers: Record<string, string>;
  body: string;
  /** When it arrived, in milliseconds of `performance.now`. */
  at: number;
}

/** A merchant's webhook endpoint on this machine: keeps what arrives, and answers 200 unless told otherwise. */
export async function startReceiver(answer: (delivery: Delivery) => number = () => 200) {
  const deliveries: Delivery[] = [];
  let arrived: () => void = () => undefined;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const headers = request.headers as Record<string, string>;
    const delivery = { headers, body: Buffer.concat(chunks).toString(), at: performance.now() };
    response.writeHead(answer(delivery)).end();
    deliveries.push(delivery);
    arrived();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the receiver has no port');
  return {
    url: `http://127.0.0.1:${address.port}/webhooks`,
    deliveries,
    /** Waits until what has arrived satisfies the condition. */
    async until(condition: (deliveries: readonly Delivery[]) => boolean, withinMs = 180_000): Promise<void> {
      const deadline = AbortSignal.timeout(withinMs);
      while (!condition(deliveries)) {
        if (deadline.aborted) throw new Error(`only ${deliveries.length} webhooks within ${withinMs} ms`);
        await new Promise<void>(resolve => {
          arrived = resolve;
          deadline.addEventListener('abort', () => resolve(), { once: true });
        });
      }
    },
    async close(): Promise<void> {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;
export const typeOf = ({ body }: Delivery) => (JSON.parse(body) as { type: string }).type;
