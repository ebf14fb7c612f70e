import { type Attach, type Attached, attach } from './attach.js';
import { type Calls, createCalls, type Options } from './calls.js';
import type { Result } from './result.js';
import { type Check, type Checked, check, type Track, type Tracked, track } from './usage.js';

/** The calls of the API, and three that are made of them for a shop that sells plans. */
export interface Client extends Calls {
  /** Gives a user a plan. Never rejects: a refusal is an answer. */
  attach(request: Attach): Promise<Attached>;
  /** Tells whether usage would be taken, and what is left. */
  check(request: Check): Promise<Result<Checked>>;
  /** Records usage. */
  track(request: Track): Promise<Result<Tracked>>;
}

/** A client of one deployment with one credential. Only the options are kept. */
export function createClient(options: Options): Client {
  const calls = createCalls(options);
  return {
    ...calls,
    attach: request => attach(calls, request),
    check: request => check(calls, request),
    track: request => track(calls, request),
  };
}
