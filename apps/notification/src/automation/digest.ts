import { createHash, timingSafeEqual } from 'node:crypto';

/** The SHA-256 digest that is stored of a secret with 256 random bits. */
export const digest = (secret: string) => createHash('sha256').update(secret).digest('base64url');

/** Compares a secret with a stored digest, in constant time. */
export function fits(secret: string, storedDigest: string): boolean {
  const given = Buffer.from(digest(secret));
  const known = Buffer.from(storedDigest);
  return given.length === known.length && timingSafeEqual(given, known);
}
