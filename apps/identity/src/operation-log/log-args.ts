import { parseArgs } from 'node:util';

const usage = `Usage: npm run log -- verify, or node apps/identity/dist/main.js log verify
  verify [--merchant <id>]    tells whether the operation log, of one merchant or of all, is as it was written
With --json, what was found is one JSON object on stdout. The exit code is 1 where anything is wrong.`;

/** What was asked for; without a merchant, all. */
export interface Asked {
  merchant?: number;
  json: boolean;
}

/** Reads the words that follow `log`; of words that are wrong, the sentences to show and how it is used. */
export function readLogWords(words: readonly string[]): { asked: Asked; wrong?: undefined } | { wrong: string } {
  const options = { merchant: { type: 'string' }, json: { type: 'boolean' } } as const;
  try {
    const { positionals, values } = parseArgs({ args: [...words], options, allowPositionals: true });
    const command = positionals.join(' ');
    if (command !== 'verify') return wrong(command === '' ? 'Say what to do.' : `There is no command "${command}".`);
    const { merchant, json = false } = values;
    if (merchant === undefined) return { asked: { json } };
    if (!/^[1-9]\d{0,14}$/.test(merchant)) return wrong('--merchant must be a number from 1 on.');
    return { asked: { merchant: Number(merchant), json } };
  } catch (error) {
    return wrong((error as Error).message);
  }
}

const wrong = (what: string) => ({ wrong: `${what}\n${usage}` });
