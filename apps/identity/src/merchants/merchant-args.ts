import { parseArgs } from 'node:util';
import { newUser, validate } from '@recur/contracts';
import { z } from 'zod';

const merchantUsage = `Usage: npm run merchant -- <command>, or node apps/identity/dist/main.js merchant <command>. Commands:
  create --name <name> --email <e-mail of its owner>    creates a merchant, its owner and its first API key
  keys list --merchant <id>                             lists its API keys
  keys revoke --merchant <id> --key <id>                revokes an API key at once
  keys rotate --merchant <id>                           issues a new API key; the others stay valid for 24 h
With --json, the outcome is one JSON object on stdout.`;

const id = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, 'must be a positive integer')
  .transform(Number);
const json = z.boolean().default(false);
const ofMerchant = z.object({ merchant: id, json });

/** The commands and their options. */
const commands = {
  create: z.object({ name: z.string().trim().min(1).max(200), email: newUser.input.shape.email, json }),
  'keys list': ofMerchant,
  'keys revoke': ofMerchant.extend({ key: id }),
  'keys rotate': ofMerchant,
};
type Name = keyof typeof commands;
/** A command with its options. */
export type MerchantCommand = {
  [N in Name]: { name: N; json: boolean; options: z.output<(typeof commands)[N]> };
}[Name];

/** Parses the arguments after `merchant`. `wrong` is the text to show: what is wrong, and the usage. */
export function readMerchantArgs(
  args: readonly string[],
): { command: MerchantCommand; wrong?: undefined } | { wrong: string } {
  const text = { type: 'string' } as const;
  const options = { name: text, email: text, merchant: text, key: text, json: { type: 'boolean' } } as const;
  try {
    const { positionals, values } = parseArgs({ args: [...args], options, allowPositionals: true });
    const name = positionals.join(' ');
    if (!isName(name))
      return wrongMerchantArgs(name === '' ? 'A command is missing.' : `There is no command "${name}".`);
    const extra = Object.keys(values).find(option => !Object.hasOwn(commands[name].shape, option));
    if (extra !== undefined) return wrongMerchantArgs(`${name} takes no --${extra}.`);
    const checked = validate(commands[name], values);
    if (!checked.ok) return wrongMerchantArgs(checked.issues.map(({ message }) => `--${message}.`).join('\n'));
    return { command: { name, json: checked.value.json, options: checked.value } as MerchantCommand };
  } catch (error) {
    return wrongMerchantArgs((error as Error).message);
  }
}

const isName = (name: string): name is Name => Object.hasOwn(commands, name);
const wrongMerchantArgs = (message: string) => ({ wrong: `${message}\n${merchantUsage}` });
