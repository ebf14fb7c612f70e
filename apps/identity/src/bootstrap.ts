import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { INestApplicationContext } from '@nestjs/common';
import { errors, newUser, type Slug, validate } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { z } from 'zod';
import { Merchants } from './merchants.js';

const usage = 'bootstrap --name <name of the merchant> --email <e-mail of its owner> [--json]';
const NewMerchant = z.object({ name: z.string().trim().min(1).max(200), email: newUser.input.shape.email });

/**
 * The command that makes a merchant on a fresh deployment. With --json, its only line on stdout is
 * `{"merchantId","memberId","apiKey"}`. What cannot be done is said on stderr, and the exit code is 1.
 */
export async function bootstrap(app: INestApplicationContext, words: readonly string[]): Promise<number> {
  try {
    const { json, ...given } = read(words);
    const made = await app.get(Merchants).create(given, randomUUID());
    const { merchantId, memberId, apiKey } = made;
    process.stdout.write(
      json
        ? `${JSON.stringify({ merchantId, memberId, apiKey })}\n`
        : `Merchant ${merchantId} with its owner, member ${memberId}. Its API key is shown this once:\n${apiKey}\n`,
    );
    return 0;
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    process.stderr.write(`${sentences(error)}\n`);
    return 1;
  }
}

function read(words: readonly string[]) {
  const { values } = parse(words);
  const checked = validate(NewMerchant, values);
  if (!checked.ok) throw new Rejected('invalid_parameters', undefined, checked.issues);
  return { ...checked.value, json: values.json };
}

function parse(args: readonly string[]) {
  const options = {
    name: { type: 'string' },
    email: { type: 'string' },
    json: { type: 'boolean', default: false },
  } as const;
  try {
    return parseArgs({ args: [...args], options });
  } catch (error) {
    throw new Rejected('invalid_parameters', `${(error as Error).message}\nUsage: ${usage}`);
  }
}

function sentences({ slug, message, issues }: Rejected): string {
  if (issues.length > 0) return issues.map(issue => issue.message).join('\n');
  return message ?? errors[slug as Slug].message;
}
