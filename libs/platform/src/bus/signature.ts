import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Sign } from './bus.js';

/** Keys of a service: the first signs, all verify. */
export type CallerKeys = readonly [Buffer, ...Buffer[]];

/**
 * The signature of a command: HMAC-SHA256, base64url, over its subject, who calls (the headers `caller`, a line each) and
 * what for. The gateway and one service share a key, so that no other account on the bus speaks for a merchant.
 */
export const signatureOf = (key: Buffer, subject: string, caller: string, payload: string | Uint8Array): string =>
  createHmac('sha256', key).update(`${subject}\n${caller}\n`).update(payload).digest('base64url');

/** True if one of the keys has signed it. */
export function isSigned(
  keys: CallerKeys,
  signature: string,
  ...[subject, caller, payload]: [subject: string, caller: string, payload: Uint8Array]
): boolean {
  const given = Buffer.from(signature);
  return keys.some(key => {
    const expected = Buffer.from(signatureOf(key, subject, caller, payload));
    return expected.length === given.length && timingSafeEqual(expected, given);
  });
}

/** Keys as CALLER_KEY has them: base64, separated by commas. */
export const keysIn = (text: string): CallerKeys => text.split(',').map(key => Buffer.from(key, 'base64')) as never;

/** Signs with the key of the service that a command goes to. `keys`: `<service>:<base64>`, separated by commas. */
export function signerOf(keys: string): Sign {
  const byService = new Map(
    keys.split(',').map(entry => {
      const [service = '', key = ''] = entry.split(':');
      return [service, Buffer.from(key, 'base64')] as const;
    }),
  );
  return (subject, caller, payload) => {
    const key = byService.get(subject.split('.')[1] ?? '');
    return key && signatureOf(key, subject, caller, payload);
  };
}
