import { connect, type Socket } from 'node:net';

/** What a load came to. Latencies in milliseconds. */
export interface Load {
  perSecond: number;
  p50: number;
  p99: number;
  requests: number;
}

/**
 * Keeps `connections` busy with one request each at a time for `seconds`, and measures. It writes prepared bytes and
 * reads only what it must of the answers, because it shares the processors with what it measures. An answer that is
 * not `"code":0` fails the run.
 */
export async function load(
  url: string,
  connections: number,
  seconds: number,
  request: (at: number) => { method: string; path: string; headers: Record<string, string>; body: string },
): Promise<Load> {
  const { hostname, port } = new URL(url);
  const latencies: number[] = [];
  const end = performance.now() + seconds * 1000;
  let sent = 0;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const line = new Line(connect({ host: hostname, port: Number(port), noDelay: true }));
      while (performance.now() < end) {
        const bytes = render(hostname, request(sent++));
        const since = performance.now();
        const answer = await line.exchange(bytes);
        latencies.push(performance.now() - since);
        if (!answer.includes('"code":0,')) throw new Error(`the load was answered: ${answer.slice(0, 600)}`);
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

function render(host: string, { method, path, headers, body }: ReturnType<Parameters<typeof load>[3]>): string {
  const lines = Object.entries({ ...headers, 'content-length': String(Buffer.byteLength(body)) });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${head}\r\n${body}`;
}

/** One keep-alive connection: a request at a time, an answer with a content-length each. */
class Line {
  private received = '';
  private expected = -1;
  private resolve: (answer: string) => void = () => undefined;
  private reject: (error: Error) => void = () => undefined;

  constructor(private readonly socket: Socket) {
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => this.take(chunk));
    socket.on('error', error => this.reject(error));
    socket.on('close', () => this.reject(new Error('the server closed the connection')));
  }

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

  private take(chunk: string): void {
    this.received += chunk;
    if (this.expected < 0) {
      const head = this.received.indexOf('\r\n\r\n');
      if (head < 0) return;
      const length = /content-length: (\d+)/i.exec(this.received.slice(0, head))?.[1];
      if (length === undefined) {
        this.reject(new Error(`no content-length: ${this.received.slice(0, head)}`));
        return;
      }
      this.expected = head + 4 + Number(length);
    }
    if (this.received.length < this.expected) return;
    const answer = this.received;
    this.received = '';
    this.expected = -1;
    this.resolve(answer);
  }
}
