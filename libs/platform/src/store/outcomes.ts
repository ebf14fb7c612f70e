import { Outcome, Rejected } from '@recur/kernel';
import type { Lookup } from './aggregate.js';

/**
 * A rejection because of a copy that may be behind its owner: `db.write` refreshes the copy and runs again. Without a
 * `rejection`, the copy is known to lag, and the command goes on with it where the owner cannot be asked; a rejection
 * because of that copy then becomes what the owner's absence is, so that it is tried again.
 */
export class Stale extends Outcome {
  override readonly name = 'Stale';

  constructor(
    readonly copy: string,
    readonly id: Lookup,
    readonly rejection: Rejected | undefined,
  ) {
    super(`the copy ${copy} ${rejection ? `says ${rejection.slug}` : 'lags'}`);
  }
}

/**
 * A refusal that leaves a trace, such as a count of failed attempts: thrown in `db.write`, it commits what the command
 * has saved, then `rejection` is thrown. No answer is stored, so a repeat under the same key runs again; if the key has
 * an answer already, that is the answer and nothing is committed.
 */
export class CommittedRejection extends Outcome {
  override readonly name = 'CommittedRejection';

  constructor(readonly rejection: Rejected) {
    super(`only db.write commits a refusal (${rejection.slug})`);
  }
}

/** A refusal that commits is a result; anything else that is thrown goes on. */
export function committedRejectionIn(error: unknown): CommittedRejection {
  if (error instanceof CommittedRejection) return error;
  throw error;
}

/** True for a refusal that leaves no trace, or that a fresher copy may take back. */
export const isRefusal = (error: unknown): boolean => error instanceof Rejected || error instanceof Stale;

/** The answer stored under the caller's idempotency key: thrown through the handler, caught by the dispatcher. */
export class Replayed extends Outcome {
  override readonly name = 'Replayed';

  constructor(
    readonly answer: string,
    readonly requestId: string,
  ) {
    super(`answered before, as ${requestId}`);
  }
}
