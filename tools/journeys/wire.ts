import type { Envelope } from '@recur/client';

/** An answer as it came over the wire. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  envelope: Envelope<Record<string, unknown>>;
}

/** HTTP as it is, for what is about the wire itself; everything else calls operations by `@recur/client`. */
export class Wire {
  constructor(
    readonly baseUrl: string,
    private readonly credential: string,
    /** How long an answer may take; a stack answers within 8 s, be it that it does not know. */
    private readonly timeoutMs = 60_000,
  ) {}

  /** POSTs and returns whatever came back. Throws where that has no envelope. */
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

  async request(path: string, init: RequestInit & { headers?: Record<string, string> } = {}): Promise<Answer> {
    const response = await fetch(`${this.baseUrl}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${this.credential}`, ...init.headers },
      signal: AbortSignal.timeout(this.timeoutMs),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, envelope: parsed(path, response.status, text) };
  }
}

function parsed(path: string, status: number, text: string): Answer['envelope'] {
  try {
    return JSON.parse(text) as Answer['envelope'];
  } catch (cause) {
    throw new Error(`${path} answered ${status} without an envelope: ${JSON.stringify(text.slice(0, 200))}`, { cause });
  }
}
