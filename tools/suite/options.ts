import { Failure } from '../local/failure.js';

/** Options of `npm test`; `rest` is jest's. */
export interface Options {
  strict: boolean;
  load: boolean;
  repeat: number | undefined;
  seed: number | undefined;
  rest: readonly string[];
}

/** Seeds as jest takes and prints them: integers of 32 bits. */
const seeds = { least: -(2 ** 31), most: 2 ** 31 - 1, drawn: 1_000_000_000 } as const;

/** Takes the options of `npm test` out of its arguments. @throws Failure naming the one that is wrong. */
export function optionsIn(args: readonly string[]): Options {
  const rest: string[] = [];
  const values: Record<string, string> = {};
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? '';
    const [, name = '', value] = /^--(strict|load|repeat|seed)(?:=(.*))?$/.exec(arg) ?? [];
    if (name === '') rest.push(arg);
    else if (name === 'strict' || name === 'load') values[name] = 'true';
    else values[name] = value ?? args[++at] ?? '';
  }
  const options = {
    strict: 'strict' in values,
    load: 'load' in values,
    repeat: whole('repeat', values.repeat, 1, 1_000),
    seed: whole('seed', values.seed, seeds.least, seeds.most),
    rest,
  };
  if (options.load && options.repeat === undefined) throw new Failure('--load belongs to --repeat <times>.', 64);
  return options;
}

function whole(name: string, text: string | undefined, least: number, most: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^-?\d+$/.test(text) && value >= least && value <= most) return value;
  throw new Failure(`--${name} must be a number from ${least} to ${most}, and is "${text}".`, 64);
}

export const randomSeed = () => Math.floor(Math.random() * seeds.drawn);
