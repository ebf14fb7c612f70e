import { parseArgs } from 'node:util';
import { newUser, validate } from '@recur/contracts';
import { z } from 'zod';

const usage = `Usage: npm run merchant -- <words>, or node apps/identity/dist/main.js merchant <words>, where the words are
  create --name <name> --email <e-mail of its owner>    makes a merchant, its owner and its first API key
  keys list --merchant <id>                             shows its API keys
  keys revoke --merchant <id> --key <id>                ends an API key at once
  keys rotate --merchant <id>                           makes a new API key; the others hold for 24 h more
With --json, what was done is one JSON object on stdout.`;

const id = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, 'must be a number from 1 on')
  .transform(Number);
const json = z.boolean().default(false);
const ofMerchant = z.object({ merchant: id, json });

/** What may be asked for, and the options that it takes. */
const commands = {
  create: z.object({ name: z.string().trim().min(1).max(200), email: newUser.input.shape.email, json }),
  'keys list': ofMerchant,
  'keys revoke': ofMerchant.extend({ key: id }),
  'keys rotate': ofMerchant,
};
type Name = keyof typeof commands;
/** A command with its options. */
export type Asked = { [N in Name]: { command: N } & z.output<(typeof commands)[N]> }[Name];

/** Reads the words that follow `merchant`; of words that are wrong, the sentences to show and how it is used. */
export function readWords(words: readonly string[]): { asked: Asked; wrong?: undefined } | { wrong: string } {
  const text = { type: 'string' } as const;
  const options = { name: text, email: text, merchant: text, key: text, json: { type: 'boolean' } } as const;
  try {
    const { positionals, values } = parseArgs({ args: [...words], options, allowPositionals: true });
    const command = positionals.join(' ');
    if (!isName(command)) return wrong(command === '' ? 'Say what to do.' : `There is no command "${command}".`);
    const extra = Object.keys(values).find(option => !Object.hasOwn(commands[command].shape, option));
    if (extra !== undefined) return wrong(`${command} takes no --${extra}.`);
    const checked = validate(commands[command], values);
    if (!checked.ok) return wrong(checked.issues.map(({ message }) => `--${message}.`).join('\n'));
    return { asked: { command, ...checked.value } as Asked };
  } catch (error) {
    return wrong((error as Error).message);
  }
}

const isName = (command: string): command is Name => Object.hasOwn(commands, command);
const wrong = (what: string) => ({ wrong: `${what}\n${usage}` });
