import { setTimeout as pause } from 'node:timers/promises';
import { Outcome, Rejected } from '@recur/kernel';
import type { Caller } from '../../runtime/caller.js';
import type { Clock } from '../../runtime/clock.js';
import { within } from '../../runtime/tracing.js';
import type { Lookup } from '../aggregate.js';
import { asRejection, isCollision, isConnectionLoss, isUnsent, violatedIndex } from '../errors.js';
import { isRefusal, Stale } from '../outcomes.js';
import { RunAgain } from '../recorder.js';

const limits = { attempts: 6, backoffMs: 20 } as const;

/** A commit failed because the connection did. `answerKept`: its answer goes with it, so a repeat would find it. */
class CommitLost extends Outcome {
  constructor(
    override readonly cause: unknown,
    readonly answerKept: boolean,
  ) {
    super('the connection was lost at the commit');
  }
}

/** Runs a commit, so that `repeated` knows that it was the commit that failed. */
export async function committing<T>(commit: Promise<T>, answerKept: boolean): Promise<T> {
  try {
    return await commit;
  } catch (error) {
    throw isConnectionLoss(error) ? new CommitLost(error, answerKept) : error;
  }
}

/** The failure of a commit as one of the commands in it sees it: whether its own answer was in it differs. */
export const failureFor = (error: unknown, { idempotencyKey }: Caller): unknown =>
  error instanceof CommitLost ? new CommitLost(error.cause, idempotencyKey !== undefined) : error;

/** True if the connection was lost at the commit, of which nobody knows whether it happened. */
export const isCommitLost = (error: unknown): boolean => error instanceof CommitLost;

interface Repetition {
  clock: Clock;
  random(): number;
  /** Throws Replayed if the caller's key has an answer. */
  replay(caller: Caller): Promise<void>;
  /** Brings a copy up to date. */
  refresh(stale: Stale, caller: Caller): Promise<void>;
}

/**
 * Runs a command until it is decided. An attempt that got in another's way, or whose commit may have been lost under a
 * key, runs again, with back-off; one that was refused because of a copy runs again once the copy was refreshed.
 */
export function repeated<T>(
  parts: Repetition,
  caller: Caller,
  run: (caller: Caller, refreshed: ReadonlySet<string>) => Promise<T>,
): Promise<T> {
  const refreshed = new Set<string>();
  return within('write', 'internal', caller, inner =>
    untilDecided(parts, inner, refreshed, () => run(inner, refreshed)),
  );
}

/** A row of a copy, as `refreshed` names it. */
export const copyKey = (copy: string, id: Lookup): string => JSON.stringify([copy, id]);

async function untilDecided<T>(
  parts: Repetition,
  caller: Caller,
  refreshed: Set<string>,
  attempt: () => Promise<T>,
): Promise<T> {
  let outcomeUnknown = false;
  /** Why owners of copies that lag could not say. */
  const unanswered = new Map<string, Rejected>();
  for (let times = 1; ; times++) {
    try {
      return await attempt();
    } catch (thrown) {
      const lost = thrown instanceof CommitLost;
      const error = lost || thrown instanceof RunAgain ? thrown.cause : thrown;
      outcomeUnknown ||= lost && !isUnsent(error);
      if (times < limits.attempts && mayRunAgain(parts, thrown, caller)) {
        await pause(limits.backoffMs * 2 ** (times - 1) * (0.5 + parts.random()));
        continue;
      }
      if (caller.idempotencyKey !== undefined && mayBeRefused(error)) await parts.replay(caller);
      if (!(error instanceof Stale)) throw asRejection(error, outcomeUnknown);
      const copy = copyKey(error.copy, error.id);
      // a copy that lags does not refuse: the owner, which is away, may know better
      if (refreshed.has(copy)) throw unanswered.get(copy) ?? error.rejection;
      const { rejection } = error;
      await parts.refresh(error, caller).catch(cause => {
        if (rejection || !(cause instanceof Rejected)) throw cause;
        unanswered.set(copy, cause);
      });
      refreshed.add(copy);
    }
  }
}

function mayRunAgain({ clock }: Repetition, thrown: unknown, { deadline }: Caller): boolean {
  if (thrown instanceof RunAgain || isCollision(thrown)) return true;
  return thrown instanceof CommitLost && thrown.answerKept && clock.wall() < deadline;
}

/** The command was refused, which the first request under the same key may be the reason for. */
const mayBeRefused = (error: unknown) => isRefusal(error) || violatedIndex(error) !== undefined;
