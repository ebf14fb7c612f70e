import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';

/** Requests that a sink received since its last reset. */
export interface Heard {
  requests: number;
  /** Distinct pairs of path and webhook-id. */
  different: number;
}

/** Arrival of a request: the `data.id` in its body, and milliseconds since the epoch with a fraction. */
export type Arrival = readonly [id: number, atMs: number];

type Question = 'heard' | 'count' | 'arrivals';

/**
 * A webhook receiver that answers at once, in a process of its own and with as little work as possible, because it shares
 * the processors with what it measures. Every path is an endpoint.
 */
export async function startSink() {
  const sink = fork(fileURLToPath(import.meta.url));
  const [port] = (await once(sink, 'message')) as [number];
  const ask = async <T>(question: Question): Promise<T> => {
    sink.send(question);
    return ((await once(sink, 'message')) as [T])[0];
  };
  return {
    url: `http://127.0.0.1:${port}`,
    /** Returns what was received, and resets it. */
    heard: () => ask<Heard>('heard'),
    /** Requests received since the last reset. */
    count: () => ask<number>('count'),
    /** Returns the arrivals since the last call. The first call starts noting them. */
    arrivals: () => ask<Arrival[]>('arrivals'),
    close(): void {
      sink.kill();
    },
  };
}

const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
const seen = new Set<string>();
let requests = 0;
let arrivals: Arrival[] | undefined;

/** Consumes complete requests; returns the beginning of the next one. */
function take(socket: Socket, received: string): string {
  let at = 0;
  let answers = '';
  for (;;) {
    const head = received.indexOf('\r\n\r\n', at);
    if (head < 0) break;
    const headers = received.slice(at, head);
    const end = head + 4 + Number(/content-length: (\d+)/i.exec(headers)?.[1] ?? 0);
    if (received.length < end) break;
    requests++;
    seen.add(`${headers.slice(0, headers.indexOf(' HTTP'))} ${/webhook-id: (\S+)/i.exec(headers)?.[1]}`);
    if (arrivals) {
      const id = Number(/"id":(\d+)/.exec(received.slice(head, end))?.[1]);
      arrivals.push([id, performance.timeOrigin + performance.now()]);
    }
    answers += answer;
    at = end;
  }
  if (answers !== '') socket.write(answers);
  return received.slice(at);
}

function reply(question: Question): void {
  if (question === 'count') process.send?.(requests);
  else if (question === 'arrivals') {
    process.send?.(arrivals ?? []);
    arrivals = [];
  } else {
    process.send?.({ requests, different: seen.size } satisfies Heard);
    seen.clear();
    requests = 0;
  }
}

/** Entry point of the sink's own process. */
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const server = createServer({ noDelay: true }, socket => {
    let received = '';
    socket.setEncoding('latin1');
    socket.on('error', () => undefined);
    socket.on('data', (chunk: string) => {
      received = take(socket, received + chunk);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  process.send?.(typeof address === 'object' && address?.port);
  process.on('message', (question: Question) => reply(question));
}
