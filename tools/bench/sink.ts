import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

/** Requests that a sink received since its last reset. */
export interface Heard {
  requests: number;
  /** Different webhook-ids at different paths. */
  different: number;
}

/**
 * An endpoint that answers at once, in a process of its own, with as little work as possible: it shares the processors
 * with what it measures. Every path is an endpoint.
 */
export async function startSink() {
  const sink = fork(fileURLToPath(import.meta.url));
  const [port] = (await once(sink, 'message')) as [number];
  return {
    url: `http://127.0.0.1:${port}`,
    /** Returns the counts and resets them. */
    async heard(): Promise<Heard> {
      sink.send('heard');
      return ((await once(sink, 'message')) as [Heard])[0];
    },
    close(): void {
      sink.kill();
    },
  };
}

const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
const seen = new Set<string>();
let requests = 0;

/** Reads whole requests out of what has come; returns what is left of the next. */
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
    answers += answer;
    at = end;
  }
  if (answers !== '') socket.write(answers);
  return received.slice(at);
}

/** The sink itself: this file as a process. */
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
  process.on('message', () => {
    process.send?.({ requests, different: seen.size } satisfies Heard);
    seen.clear();
    requests = 0;
  });
}
