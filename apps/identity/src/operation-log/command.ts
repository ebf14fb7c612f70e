import type { INestApplicationContext } from '@nestjs/common';
import { Rejected } from '@recur/kernel';
import { readLogArgs } from './log-args.js';
import { LogVerification, type Verdict } from './verification.js';

/** Exit codes, as in sysexits.h: wrong usage; a dependency is away; the log was tampered with. */
const exits = { usage: 64, unavailable: 69, broken: 1 } as const;

/** The operator's command that verifies the operation log. Returns the exit code. */
export async function log(app: INestApplicationContext, args: readonly string[]): Promise<number> {
  const read = readLogArgs(args);
  if (read.wrong !== undefined) return fail(read.wrong, exits.usage);
  const { merchant, json } = read.options;
  const verification = app.get(LogVerification);
  const verdicts: Verdict[] = [];
  try {
    for await (const merchantId of merchant === undefined ? verification.merchants() : [merchant]) {
      const verdict = await verification.verify(merchantId);
      const isEmpty = verdict.entries === 0 && verdict.problems.length === 0;
      // a mistyped id must not be reported as intact
      if (isEmpty && !(await verification.knows(merchantId))) {
        return fail(`There is no merchant ${merchantId}.`, exits.usage);
      }
      verdicts.push(verdict);
      if (!json) process.stdout.write(`${verdictLine(verdict)}\n`);
    }
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    return fail('The database is unavailable: the rest was not verified.', exits.unavailable);
  }
  const holds = verdicts.every(({ problems }) => problems.length === 0);
  if (json) process.stdout.write(`${JSON.stringify({ holds, merchants: verdicts })}\n`);
  return holds ? 0 : exits.broken;
}

function verdictLine({ merchantId, entries, hash, problems }: Verdict): string {
  if (problems.length > 0) return `Merchant ${merchantId}: ${problems.join('; ')}.`;
  return `Merchant ${merchantId}: all ${entries} entries are as they were written. ${hash}`.trimEnd();
}

function fail(message: string, code: number): number {
  process.stderr.write(`${message}\n`);
  return code;
}
