import type { INestApplicationContext } from '@nestjs/common';
import { Rejected } from '@recur/kernel';
import { readLogWords } from './log-args.js';
import { LogVerification, type Verdict } from './verification.js';

/** Exit codes, as in sysexits.h: the words are wrong; what is needed is away; the log is not as it was written. */
const exits = { usage: 64, unavailable: 69, broken: 1 } as const;

/** The command of an operator: tells whether the operation log is what was written. */
export async function log(app: INestApplicationContext, words: readonly string[]): Promise<number> {
  const read = readLogWords(words);
  if (read.wrong !== undefined) return fail(read.wrong, exits.usage);
  const { merchant, json } = read.asked;
  const verification = app.get(LogVerification);
  const verdicts: Verdict[] = [];
  try {
    for await (const merchantId of merchant === undefined ? verification.merchants() : [merchant]) {
      const verdict = await verification.verify(merchantId);
      const isEmpty = verdict.entries === 0 && verdict.problems.length === 0;
      // an id that was mistyped is not to be told that all is well
      if (isEmpty && !(await verification.knows(merchantId))) {
        return fail(`There is no merchant ${merchantId}.`, exits.usage);
      }
      verdicts.push(verdict);
      if (!json) process.stdout.write(`${line(verdict)}\n`);
    }
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    return fail('The database cannot be asked: nothing is known of the rest.', exits.unavailable);
  }
  const holds = verdicts.every(({ problems }) => problems.length === 0);
  if (json) process.stdout.write(`${JSON.stringify({ holds, merchants: verdicts })}\n`);
  return holds ? 0 : exits.broken;
}

function line({ merchantId, entries, hash, problems }: Verdict): string {
  if (problems.length > 0) return `Merchant ${merchantId}: ${problems.join('; ')}.`;
  return `Merchant ${merchantId}: all ${entries} entries are as they were written. ${hash}`.trimEnd();
}

function fail(what: string, code: number): number {
  process.stderr.write(`${what}\n`);
  return code;
}
