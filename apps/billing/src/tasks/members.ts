import type { Caller } from '@recur/platform';

/** The id of the member who calls; 0 for an API key. */
export const memberOf = ({ actor }: Caller): number => (actor.kind === 'member' ? Number(actor.id) : 0);
