import { connect, type Socket } from 'node:net';

/** So much of an answer is looked at, and shown when it is a failure. */
const seenCharacters = 600;

/** A request to send. */
export interface Request {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
}

/** Result of a load. Latencies in milliseconds. */
export interface Load {
  perSecond: number;
  p50: number;
  p99: number;
  requests: number;
}

/**
 * Keeps `connections` busy with one request each at a time for `seconds`, and measures. It writes prepared bytes and
 * reads only what it must of the answers, because it shares the processors with what it measures. It ends early where
 * there is no further request. An answer that is not `"code":0` fails the run.
 */
export async function load(
  url: string,
  connections: number,
  seconds: number,
  request: (at: number) => Request | undefined,
): Promise<Load> {
  const { hostname, port } = new URL(url);
  const latencies: number[] = [];
  const end = performance.now() + seconds * 1000;
  let sent = 0;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const line = new Line(hostname, Number(port));
      while (performance.now() < end) {
        const next = request(sent++);
        if (next === undefined) break;
        const bytes = render(hostname, next);
        const since = performance.now();
        const answer = await line.exchange(bytes);
        latencies.push(performance.now() - since);
        if (!answer.includes('"code":0,')) throw new Error(`the load was answered: ${answer}`);
      }
      line.close();
    }),
  );
  const elapsed = (performance.now() - started) / 1000;
  latencies.sort((a, b) => a - b);
  return {
    perSecond: latencies.length / elapsed,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    requests: latencies.length,
  };
}

export const quantile = (sorted: readonly number[], part: number) =>
  sorted[Math.floor((sorted.length - 1) * part)] ?? 0;
export const median = (values: readonly number[]) =>
  quantile(
    [...values].sort((a, b) => a - b),
    0.5,
  );

function render(host: string, { method, path, headers, body }: Request): string {
  const lines = Object.entries({ ...headers, 'content-length': String(Buffer.byteLength(body)) });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${head}\r\n${body}`;
}

/**
 * Keep-alive connection: a request at a time, an answer with a content-length each. It reads into one buffer, without
 * a stream.
 */
class Line {
  private readonly socket: Socket;
  private begin = '';
  /** Bytes left of the answer's body; undefined until its head is complete. */
  private left: number | undefined;
  private resolve: (answer: string) => void = () => undefined;
  private reject: (error: Error) => void = () => undefined;

  constructor(host: string, port: number) {
    const callback = (length: number, bytes: Uint8Array) => {
      this.take(length, bytes as Buffer);
      return true;
    };
    this.socket = connect({ host, port, noDelay: true, onread: { buffer: Buffer.allocUnsafe(65_536), callback } });
    this.socket.on('error', error => this.reject(error));
    this.socket.on('close', () => this.reject(new Error('the server closed the connection')));
  }

  /** How the answer's body begins. */
  exchange(request: string): Promise<string> {
    return new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
      this.socket.write(request);
    });
  }

  close(): void {
    this.reject = () => undefined;
    this.socket.destroy();
  }

  private take(length: number, bytes: Buffer): void {
    if (this.left === undefined) {
      this.begin += bytes.toString('latin1', 0, length);
      const end = this.begin.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = this.begin.slice(0, end);
      const size = /content-length: (\d+)/i.exec(head)?.[1];
      if (size === undefined) {
        this.reject(new Error(`no content-length: ${head}`));
        return;
      }
      this.begin = this.begin.slice(end + 4);
      this.left = Number(size) - this.begin.length;
    } else {
      if (this.begin.length < seenCharacters) this.begin += bytes.toString('latin1', 0, length);
      this.left -= length;
    }
    if (this.left > 0) return;
    const answer = this.begin.slice(0, seenCharacters);
    this.begin = '';
    this.left = undefined;
    this.resolve(answer);
  }
}
