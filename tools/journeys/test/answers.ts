import { isDeepStrictEqual } from 'node:util';
import type { Envelope } from '@recur/client';
import { commonErrors, errors, type Operation, type Slug } from '@recur/contracts';

/** The fault of an answer; undefined for one that keeps to the contract. */
export function problem(operation: Operation, status: number, text: string): string | undefined {
  const envelope = JSON.parse(text) as Envelope;
  const members = Object.keys(envelope).join();
  if (status === 200) {
    if (members !== 'code,data,merchantId,message,redirect,requestId' || envelope.code !== 0)
      return `an envelope of ${members}`;
    const parsed = operation.output.safeParse(envelope.data);
    if (!parsed.success) return parsed.error.message;
    return isDeepStrictEqual(parsed.data, envelope.data) ? undefined : 'fields that its contract has not';
  }
  if (members !== 'code,data,merchantId,message,redirect,requestId,error') return `an envelope of ${members}`;
  const slug = envelope.error?.type as Slug;
  if (!operation.errors.includes(slug) && !commonErrors.includes(slug))
    return `the error ${slug}, which it does not list`;
  const { http, code } = errors[slug];
  if (http !== status || code !== envelope.code) return `${slug} as ${status} ${envelope.code}`;
  return status >= 500 ? `${status} ${slug}` : undefined;
}
