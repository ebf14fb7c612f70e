import { type ErrorKind, errors, type Slug } from '@recur/contracts';
import type { Issue } from '@recur/kernel';

// Every answer is this envelope. Members are always in this order: code, data, merchantId, message, redirect,
// requestId, and of a failure error.

const opening = Buffer.from('{"code":0,"data":');

/** A success: the bytes of `data` as the service answered them, never parsed here, in one buffer with the rest. */
export function success(data: Uint8Array | string, merchantId: number, requestId: string): Buffer {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  const ending = `,"merchantId":${merchantId},"message":"","redirect":"","requestId":${JSON.stringify(requestId)}}`;
  const whole = Buffer.allocUnsafe(opening.length + bytes.length + Buffer.byteLength(ending));
  whole.set(opening);
  whole.set(bytes, opening.length);
  whole.write(ending, opening.length + bytes.length);
  return whole;
}

/** A failure; without a message of its own it gets the registered one. */
export interface Failure {
  slug: Slug;
  message?: string;
  issues: readonly Issue[];
}

export function failure({ slug, message, issues }: Failure, merchantId: number, requestId: string): Buffer {
  const kind: ErrorKind = errors[slug];
  return Buffer.from(
    JSON.stringify({
      code: kind.code,
      data: {},
      merchantId,
      message: slug === 'internal_error' ? kind.message : (message ?? kind.message),
      redirect: '',
      requestId,
      error: { type: slug, issues },
    }),
  );
}

export const isRegistered = (slug: string): slug is Slug => Object.hasOwn(errors, slug);
