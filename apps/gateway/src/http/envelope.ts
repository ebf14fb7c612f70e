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

/** A failure; without a message of its own it has the registered one, or states what is wrong with the input. */
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
      message:
        slug === 'internal_error'
          ? kind.message
          : (message ?? (slug === 'invalid_parameters' ? stated(issues) : undefined) ?? kind.message),
      redirect: '',
      requestId,
      error: { type: slug, issues },
    }),
  );
}

const statedIssues = 3;

/** The first issues as one text, for clients that read the message only. */
function stated(issues: readonly Issue[]): string | undefined {
  if (issues.length === 0) return undefined;
  const more = issues.length - statedIssues;
  const first = issues.slice(0, statedIssues).map(sentence);
  return [...first, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}

/** `amount: is 42, and comes to 41`; most messages name their field themselves. */
function sentence({ path, message }: Issue): string {
  const field = path
    .replace(/^\//, '')
    .replace(/\/(\d+)(?=\/|$)/g, '[$1]')
    .replaceAll('/', '.');
  return field === '' || message.startsWith(field) || /^[A-Z]/.test(message) ? message : `${field}: ${message}`;
}

export const isRegistered = (slug: string): slug is Slug => Object.hasOwn(errors, slug);
