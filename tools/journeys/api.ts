import { randomUUID } from 'node:crypto';

/** Envelope of every answer. */
export interface Envelope<D = Record<string, unknown>> {
  code: number;
  data: D;
  merchantId: number;
  message: string;
  redirect: string;
  requestId: string;
  error?: { type: string; issues: { path: string; message: string }[] };
}

export interface Answer<D = Record<string, unknown>> {
  status: number;
  headers: Headers;
  text: string;
  envelope: Envelope<D>;
}

/** recur as a merchant's system sees it: HTTP and nothing else. */
export class Api {
  constructor(
    readonly baseUrl: string,
    private readonly apiKey: string,
    /** How long an answer may take; a stack answers within 8 s, be it that it does not know. */
    private readonly timeoutMs = 20_000,
  ) {}

  /** POSTs and returns `data`. Throws when the answer is not a success. */
  async post<D>(path: string, body: object, idempotencyKey: string = randomUUID()): Promise<D> {
    return succeeded<D>(path, await this.send(path, body, idempotencyKey));
  }

  /** GETs and returns `data`. */
  async get<D>(path: string): Promise<D> {
    return succeeded<D>(path, await this.request(path, {}));
  }

  /** POSTs and returns whatever came back. */
  send(path: string, body: object, idempotencyKey?: string): Promise<Answer> {
    return this.request(path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: {
        'content-type': 'application/json',
        ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
      },
    });
  }

  async request(path: string, init: RequestInit & { headers?: Record<string, string> }): Promise<Answer> {
    const response = await fetch(`${this.baseUrl}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${this.apiKey}`, ...init.headers },
      signal: AbortSignal.timeout(this.timeoutMs),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, envelope: parsed(path, response.status, text) };
  }
}

function parsed(path: string, status: number, text: string): Envelope {
  try {
    return JSON.parse(text) as Envelope;
  } catch (cause) {
    throw new Error(`${path} answered ${status} without an envelope: ${JSON.stringify(text.slice(0, 200))}`, { cause });
  }
}

function succeeded<D>(path: string, { status, envelope }: Answer): D {
  if (status === 200 && envelope.code === 0) return envelope.data as D;
  throw new Error(`${path} answered ${status}: ${JSON.stringify({ ...envelope, data: undefined })}`);
}
