import type { EventData, WebhookEventName } from '@recur/contracts';

interface Event<N extends string, D> {
  /** The same at each attempt: what was handled under it is handled. */
  id: string;
  type: N;
  /** When it happened, ISO 8601. */
  timestamp: string;
  merchantId: number;
  /** The version of the object in `data`: older ones may arrive later and can be dropped. */
  sequence: number;
  data: D;
  /** A sample that was asked for: its object is blank, and its sequence 0. */
  test?: true;
}

/** An event as a webhook delivers it, any or those of some names. */
export type WebhookEvent<N extends WebhookEventName = WebhookEventName> = { [K in N]: Event<K, EventData<K>> }[N];
/** Any event, also of a name that came with a later version of the API. */
export type UnknownEvent = Event<string, unknown>;

/** The headers of a request, as Node, fetch and most frameworks have them. */
export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>;

export type Verified =
  | { ok: true; event: WebhookEvent }
  | { ok: false; reason: 'headers_missing' | 'not_current' | 'signature_wrong' | 'body_unreadable' };

/**
 * Verifies a delivery (Standard Webhooks 1.0) and returns its event. `body` is the text as received, `secrets` the
 * endpoint's, two while one is being replaced. The time of the attempt may be off by `toleranceSeconds` (300). Rejects with TypeError
 * where a secret is none.
 */
export async function verifyWebhook(delivery: {
  body: string;
  headers: WebhookHeaders;
  secrets: readonly string[];
  nowMs?: number;
  toleranceSeconds?: number;
}): Promise<Verified> {
  const { body, headers, secrets, nowMs = Date.now(), toleranceSeconds = 300 } = delivery;
  const keys = assertSecrets(secrets);
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map(name =>
    headerOf(headers, name),
  );
  if (!id || !timestamp || !signatures) return { ok: false, reason: 'headers_missing' };
  const isCurrent = /^\d{1,12}$/.test(timestamp) && Math.abs(nowMs / 1000 - Number(timestamp)) <= toleranceSeconds;
  if (!isCurrent) return { ok: false, reason: 'not_current' };
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  const given = signatures.split(' ').flatMap(signature => {
    const [version, value = ''] = signature.split(',');
    return version === 'v1' ? [bytesOf(value)] : [];
  });
  for (const key of keys) if (await isSigned(key, given, signed)) return opened(id, body);
  return { ok: false, reason: 'signature_wrong' };
}

/** The keys of secrets. Throws TypeError where there is none, or one is none. */
export function assertSecrets(secrets: readonly string[]): Uint8Array<ArrayBuffer>[] {
  if (secrets.length === 0) throw new TypeError('a webhook secret is missing');
  return secrets.map(secret => {
    const bytes = bytesOf(secret.replace(/^whsec_/, ''));
    if (bytes === undefined || bytes.length === 0) throw new TypeError('a webhook secret is whsec_ and base64');
    return bytes;
  });
}

async function isSigned(
  bytes: Uint8Array<ArrayBuffer>,
  given: (Uint8Array<ArrayBuffer> | undefined)[],
  signed: Uint8Array<ArrayBuffer>,
) {
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
  for (const signature of given)
    if (signature !== undefined && (await crypto.subtle.verify('HMAC', key, signature, signed))) return true;
  return false;
}

function opened(id: string, body: string): Verified {
  try {
    const event = JSON.parse(body) as WebhookEvent | null;
    if (typeof event?.type === 'string' && Number.isInteger(event.sequence))
      return { ok: true, event: { ...event, id } };
  } catch {
    // not JSON
  }
  return { ok: false, reason: 'body_unreadable' };
}

function headerOf(headers: WebhookHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return Array.isArray(found) ? found[0] : found;
}

/** The bytes of base64, or undefined if it is none. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), character => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
