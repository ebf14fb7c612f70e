import { randomUUID } from 'node:crypto';
import type { INestApplicationContext } from '@nestjs/common';
import { errors, type Slug } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { systemCaller } from '@recur/platform';
import { ApiKeys, type KeyState } from './api-keys.js';
import { type Asked, readWords } from './merchant-args.js';
import { Merchants } from './merchants.js';

/** Exit codes, as in sysexits.h: the words are wrong; something that is needed is away; anything else. */
const exits = { usage: 64, unavailable: 69, refused: 1 } as const;

/** What was done: as the one object that --json prints, and as lines for a person. */
interface Told {
  data: object;
  lines: string[];
}

/**
 * The command of an operator: makes merchants and keeps their API keys. stdout has what was done, with --json as one
 * object. What cannot be done is said on stderr.
 */
export async function merchant(app: INestApplicationContext, words: readonly string[]): Promise<number> {
  const read = readWords(words);
  if (read.wrong !== undefined) return fail(read.wrong, exits.usage);
  const { asked } = read;
  try {
    const { data, lines } = await run(app, asked);
    process.stdout.write(`${asked.json ? JSON.stringify(data) : lines.join('\n')}\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    return fail(sentences(error), error.slug === 'dependency_away' ? exits.unavailable : exits.refused);
  }
}

async function run(app: INestApplicationContext, asked: Asked): Promise<Told> {
  if (asked.command === 'create') return created(await app.get(Merchants).create(asked, randomUUID()));
  const merchantId = asked.merchant;
  const caller = systemCaller(merchantId, randomUUID(), Number.POSITIVE_INFINITY);
  const apiKeys = app.get(ApiKeys);
  switch (asked.command) {
    case 'keys list': {
      const keys = await apiKeys.list(caller);
      return { data: { merchantId, keys }, lines: keys.map(line) };
    }
    case 'keys revoke': {
      const { key, changed } = await apiKeys.revoke(caller, asked.key);
      const what = changed ? 'revoked; every gateway refuses it within 5 s' : `revoked already, ${at(key.revokedTime)}`;
      return { data: { merchantId, key, changed }, lines: [`API key ${key.id} (${key.hint}) is ${what}.`] };
    }
    case 'keys rotate': {
      const { key, apiKey, ending } = await apiKeys.rotate(caller);
      const until = ending.map(
        ({ id, hint, revokedTime }) => `API key ${id} (${hint}) holds until ${at(revokedTime)}.`,
      );
      return {
        data: { merchantId, key, apiKey, ending },
        lines: [`API key ${key.id} of merchant ${merchantId} is shown this once:`, apiKey, ...until],
      };
    }
  }
}

function created({ merchantId, memberId, apiKey }: Awaited<ReturnType<Merchants['create']>>): Told {
  const title = `Merchant ${merchantId} with its owner, member ${memberId}. Its API key is shown this once:`;
  return { data: { merchantId, memberId, apiKey }, lines: [title, apiKey] };
}

const at = (seconds: number) => new Date(seconds * 1000).toISOString().replace('.000', '');

function line({ id, hint, createTime, revokedTime, state }: KeyState): string {
  const end = { active: '', ending: `, until ${at(revokedTime)}`, revoked: `, ${at(revokedTime)}` }[state];
  return `${String(id).padStart(6)}  ${hint}  made ${at(createTime)}  ${state}${end}`;
}

function fail(what: string, code: number): number {
  process.stderr.write(`${what}\n`);
  return code;
}

function sentences({ slug, message, issues }: Rejected): string {
  if (slug === 'deadline_exceeded') return 'It is not known whether this was done: look before you do it again.';
  const said = issues.length > 0 ? issues.map(issue => issue.message) : [message ?? errors[slug as Slug].message];
  return said.map(sentence => `${sentence}.`).join('\n');
}
