import { parseArgs } from 'node:util';

const logUsage = `Usage: npm run log -- verify, or node apps/identity/dist/main.js log verify
  verify [--merchant <id>]    verifies that the operation log, of one merchant or of all, is as it was written
With --json, the result is one JSON object on stdout. The exit code is 1 if anything is wrong.`;

/** Options of the command; all merchants unless one is given. */
export interface VerifyOptions {
  merchant?: number;
  json: boolean;
}

/** Parses the arguments after `log`. `wrong` is the text to show: what is wrong, and the usage. */
export function readLogArgs(
  args: readonly string[],
): { options: VerifyOptions; wrong?: undefined } | { wrong: string } {
  const options = { merchant: { type: 'string' }, json: { type: 'boolean' } } as const;
  try {
    const { positionals, values } = parseArgs({ args: [...args], options, allowPositionals: true });
    const command = positionals.join(' ');
    if (command !== 'verify')
      return wrongLogArgs(command === '' ? 'A command is missing.' : `There is no command "${command}".`);
    const { merchant, json = false } = values;
    if (merchant === undefined) return { options: { json } };
    if (!/^[1-9]\d{0,14}$/.test(merchant)) return wrongLogArgs('--merchant must be a positive integer.');
    return { options: { merchant: Number(merchant), json } };
  } catch (error) {
    return wrongLogArgs((error as Error).message);
  }
}

const wrongLogArgs = (message: string) => ({ wrong: `${message}\n${logUsage}` });
