import { randomUUID } from 'node:crypto';
import type { INestApplicationContext } from '@nestjs/common';
import { errors, type Slug } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { systemCaller } from '@recur/platform';
import { type MerchantCommand, readMerchantArgs } from './merchant-args.js';
import { type KeyState, MerchantKeys } from './merchant-keys.js';
import { Merchants } from './merchants.js';

/** Exit codes, as in sysexits.h: wrong usage; a dependency is away; any other refusal. */
const exits = { usage: 64, unavailable: 69, refused: 1 } as const;

/** The result of a command: the object that --json prints, and the lines for a person. */
interface Outcome {
  data: object;
  lines: string[];
}

/**
 * The operator's command for merchants and their API keys. Prints the outcome on stdout, with --json as one object;
 * refusals go to stderr. Returns the exit code.
 */
export async function merchant(app: INestApplicationContext, args: readonly string[]): Promise<number> {
  const read = readMerchantArgs(args);
  if (read.wrong !== undefined) return fail(read.wrong, exits.usage);
  const { command } = read;
  try {
    const { data, lines } = await run(app, command);
    process.stdout.write(`${command.json ? JSON.stringify(data) : lines.join('\n')}\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    return fail(sentences(error), error.slug === 'dependency_away' ? exits.unavailable : exits.refused);
  }
}

async function run(app: INestApplicationContext, command: MerchantCommand): Promise<Outcome> {
  if (command.name === 'create') return created(await app.get(Merchants).create(command.options, randomUUID()));
  const merchantId = command.options.merchant;
  const caller = systemCaller(merchantId, randomUUID(), Number.POSITIVE_INFINITY);
  const apiKeys = app.get(MerchantKeys);
  switch (command.name) {
    case 'keys list': {
      const keys = await apiKeys.list(caller);
      return { data: { merchantId, keys }, lines: keys.map(keyLine) };
    }
    case 'keys revoke': {
      const { key, changed } = await apiKeys.revoke(caller, command.options.key);
      const what = changed ? 'revoked; every gateway refuses it within 5 s' : `revoked already, ${at(key.revokedTime)}`;
      return { data: { merchantId, key, changed }, lines: [`API key ${key.id} (${key.hint}) is ${what}.`] };
    }
    case 'keys rotate': {
      const { key, apiKey, ending } = await apiKeys.rotate(caller);
      const until = ending.map(
        ({ id, hint, revokedTime }) => `API key ${id} (${hint}) stays valid until ${at(revokedTime)}.`,
      );
      return {
        data: { merchantId, key, apiKey, ending },
        lines: [`API key ${key.id} of merchant ${merchantId}, shown only once:`, apiKey, ...until],
      };
    }
  }
}

function created({ merchantId, memberId, apiKey }: Awaited<ReturnType<Merchants['create']>>): Outcome {
  const title = `Merchant ${merchantId} with its owner, member ${memberId}. Its API key, shown only once:`;
  return { data: { merchantId, memberId, apiKey }, lines: [title, apiKey] };
}

const at = (seconds: number) => new Date(seconds * 1000).toISOString().replace('.000', '');

function keyLine({ id, hint, createTime, revokedTime, state }: KeyState): string {
  const end = { active: '', ending: `, until ${at(revokedTime)}`, revoked: `, ${at(revokedTime)}` }[state];
  return `${String(id).padStart(6)}  ${hint}  created ${at(createTime)}  ${state}${end}`;
}

function fail(message: string, code: number): number {
  process.stderr.write(`${message}\n`);
  return code;
}

function sentences({ slug, message, issues }: Rejected): string {
  if (slug === 'deadline_exceeded') return 'The outcome is unknown: check before you retry.';
  const messages = issues.length > 0 ? issues.map(issue => issue.message) : [message || errors[slug as Slug].message];
  return messages.map(sentence => `${sentence}.`).join('\n');
}
