/** A new Idempotency-Key of 128 random bits; works in pages without TLS too, where crypto.randomUUID is absent. */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map(byte => byte.toString(16).padStart(2, '0')).join('');
}
