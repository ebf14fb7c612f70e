import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { INestApplicationContext } from '@nestjs/common';
import { systemCaller } from '@recur/platform';
import { UsageMending } from './mending.js';
import type { Compared } from './recounts.js';

/** Exit code of sysexits.h for wrong arguments. */
const WRONG_USAGE = 64;

const help = `Usage: node apps/billing/dist/main.js usage recount --merchant <id>
compares the merchant's usage counters with their events and mends those that differ.`;

/** Operator command: mends the usage counters of a merchant, and prints each that it mended. Returns the exit code. */
export async function usage(app: INestApplicationContext, words: readonly string[]): Promise<number> {
  const merchantId = merchantIn(words);
  if (merchantId === undefined) {
    process.stderr.write(`${help}\n`);
    return WRONG_USAGE;
  }
  let mended = 0;
  const caller = systemCaller(merchantId, randomUUID(), Number.POSITIVE_INFINITY);
  const right = await app.get(UsageMending).mend(caller, compared => {
    mended++;
    process.stdout.write(`${line(compared)}\n`);
  });
  process.stdout.write(`Counters mended: ${mended}. Counters that were right: ${right}.\n`);
  return 0;
}

/** The id after `recount --merchant`; undefined for anything else. */
function merchantIn(words: readonly string[]): number | undefined {
  try {
    const options = { merchant: { type: 'string' } } as const;
    const { positionals, values } = parseArgs({ args: [...words], options, allowPositionals: true });
    const isMeant = positionals.join(' ') === 'recount' && /^[1-9]\d{0,14}$/.test(values.merchant ?? '');
    return isMeant ? Number(values.merchant) : undefined;
  } catch {
    return undefined;
  }
}

function line({ counter, exact }: Compared): string {
  const { subscriptionId, metricId, startAt, events, used, closed } = counter;
  const from = new Date(startAt * 1000).toISOString().replace('.000', '');
  const what = `${subscriptionId}, metric ${metricId} from ${from}`;
  return `${what}${closed ? ', billed' : ''}: ${used} of ${events} events is now ${exact.used} of ${exact.events}.`;
}
