import { errors } from '@recur/contracts';
import { Rejected } from '@recur/kernel';

/** A fault that another attempt would meet too: its message ends the task. */
export class Lasting extends Error {}

/** Refusals that another attempt would meet too: by the list whose filters an export has. */
const lasting: readonly string[] = ['invalid_parameters', 'discount_not_found'];

/** Why a task ends; undefined where it is tried again. */
export function finalReason(error: unknown, isLastAttempt: boolean, otherwise: string): string | undefined {
  if (error instanceof Lasting) return error.message;
  if (error instanceof Rejected && lasting.includes(error.slug)) return wordsOf(error);
  if (!isLastAttempt) return undefined;
  return error instanceof Rejected ? wordsOf(error) : otherwise;
}

/** The message of a refusal, with what is wrong with each field. */
const wordsOf = ({ slug, message, issues }: Rejected): string =>
  [message || errors[slug].message, ...issues.map(issue => issue.message)].join(': ');
