import { Rejected } from '@recur/kernel';
import type { Caller } from '@recur/platform';

/** The id of the calling user; the gateway admits no other caller to operations of the hosted pages. */
export function userOf({ actor }: Caller): number {
  if (actor.kind !== 'user') throw new Rejected('permission_denied');
  return Number(actor.id);
}
