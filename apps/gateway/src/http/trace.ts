import { pooledRandom } from '@recur/platform';

const shape = /^([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})(-.*)?$/;

const randomHex = (bytes: number) => pooledRandom(bytes).toString('hex');

/**
 * The trace context of a request (https://www.w3.org/TR/trace-context/#traceparent-header): the trace that its client
 * is in continues with a span of ours; without a valid one, a trace starts here.
 */
export function traceparentOf(incoming: string | undefined): string {
  const [, version, trace, flags, more] = (incoming !== undefined && shape.exec(incoming)) || [];
  const valid = version !== undefined && version !== 'ff' && !(version === '00' && more !== undefined);
  return valid ? `00-${trace}-${randomHex(8)}-${flags}` : `00-${randomHex(16)}-${randomHex(8)}-01`;
}
