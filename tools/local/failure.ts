/**
 * A failure that the person at the terminal can do something about: shown as its one sentence, without a stack.
 * Exit codes are those of sysexits.h: 64 wrong usage, 69 something needed is not available, 78 settings that are not
 * usable; 1 anything else.
 */
export class Failure extends Error {
  constructor(
    sentence: string,
    readonly exitCode: 1 | 64 | 69 | 78 = 1,
  ) {
    super(sentence);
  }
}

/** @throws Failure (64) when a command that takes no arguments was given some. */
export function takesNoArguments(command: string, args: readonly string[]): void {
  if (args.length > 0) throw new Failure(`${command} takes no arguments, and was given ${args.join(' ')}.`, 64);
}
