import { randomFillSync } from 'node:crypto';

const shape = /^([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})(-.*)?$/;

const pool = Buffer.alloc(4_096);
let used = pool.length;

function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.toString('hex', used - bytes, used);
}

/**
 * The trace context of a request (https://www.w3.org/TR/trace-context/#traceparent-header): the trace that its client
 * is in goes on with a span of ours; without one, or with one that is not valid, a trace starts here.
 */
export function traceparentOf(incoming: string | undefined): string {
  const [, version, trace, flags, more] = (incoming !== undefined && shape.exec(incoming)) || [];
  const valid = version !== undefined && version !== 'ff' && !(version === '00' && more !== undefined);
  return valid ? `00-${trace}-${randomHex(8)}-${flags}` : `00-${randomHex(16)}-${randomHex(8)}-01`;
}
