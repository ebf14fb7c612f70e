import { createReadStream } from 'node:fs';
import { text } from 'node:stream/consumers';
import type { INestApplicationContext } from '@nestjs/common';
import { Rates } from './rates.js';
import { limits, readRates } from './xml.js';

/** Exit codes of sysexits.h: wrong arguments, unusable file, file that cannot be opened. */
const exits = { usage: 64, data: 65, noInput: 66 } as const;

const usage = `Usage: node apps/catalog/dist/main.js rates import <file>, where the file is XML in the format of
https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml`;

/** Operator command: imports a rate table from a file, for installations that cannot reach the publisher. */
export async function rates(app: INestApplicationContext, words: readonly string[]): Promise<number> {
  const [command, file, ...more] = words;
  if (command !== 'import' || file === undefined || more.length > 0) return fail(usage, exits.usage);
  let xml: string;
  try {
    // reads one byte more than allowed, so that a file that is too large is noticed
    xml = await text(createReadStream(file, { end: limits.bytes }));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return fail(`${file} cannot be read: ${code ?? message}.`, exits.noInput);
  }
  const { table, problem } = readRates(xml);
  if (!table) return fail(`${file} cannot be used: ${problem}.`, exits.data);
  const day = new Date(table.at * 1000).toISOString().slice(0, 10);
  const said = `${table.rates.size} rates of ${day} from ${table.source}`;
  const outcome = await app.get(Rates).take(table);
  if (outcome === 'ahead') return fail(`${file} has ${said}: that day is in the future.`, exits.data);
  process.stdout.write(`${said} ${outcome === 'taken' ? 'are imported' : 'were imported before'}.\n`);
  return 0;
}

function fail(what: string, code: number): number {
  process.stderr.write(`${what}\n`);
  return code;
}
