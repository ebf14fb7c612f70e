import { errors, membersIn, spelled, UsageEventInput, validate } from '@recur/contracts';
import { giveWay } from '@recur/platform';

export interface Line {
  /** From 1. */
  line: number;
  event: UsageEventInput;
}
export interface RefusedLine {
  line: number;
  code: number;
  message: string;
}

/** Nesting and members of a line, and the refused lines that are told. */
const limits = { depth: 64, members: 2_000, refused: 1_000 } as const;
/** Lines are read in parts of so many characters, and then others have their turn. A line costs some of its own. */
const turn = { chars: 16_384, perLine: 100 } as const;

/**
 * The events of an NDJSON text, a line each, and the first 1000 lines that are none. Blank lines count, and are skipped.
 * The work gives way to other commands every few milliseconds.
 */
export async function linesIn(text: string): Promise<{ events: Line[]; refused: RefusedLine[] }> {
  const events: Line[] = [];
  const refused: RefusedLine[] = [];
  let spent = 0;
  for (const [at, json] of text.split('\n').entries()) {
    spent += json.length + turn.perLine;
    if (spent > turn.chars) {
      spent = 0;
      await giveWay();
    }
    if (json.trim() === '') continue;
    const line = at + 1;
    const value = valueIn(json);
    // without the messages of a refusal, which take longer than the check
    const checked = value === undefined ? undefined : UsageEventInput.safeParse(spelled(UsageEventInput, value));
    if (checked?.success) events.push({ line, event: checked.data });
    else if (refused.length < limits.refused) refused.push({ line, ...reasonOf(value) });
  }
  return { events, refused };
}

/** The reason why a line is refused; `value` is undefined where it is no JSON. */
function reasonOf(value: unknown): Omit<RefusedLine, 'line'> {
  if (value === undefined) return { code: errors.malformed_json.code, message: 'The line is not valid JSON' };
  const checked = validate(UsageEventInput, value);
  const message = checked.ok ? undefined : checked.issues[0]?.message;
  return { code: errors.invalid_parameters.code, message: message ?? errors.invalid_parameters.message };
}

/** The value of a line; undefined where it is no JSON, or too deep or long for code that looks at each of its members. */
function valueIn(json: string): unknown {
  if (typeof membersIn(json, limits) === 'string') return undefined;
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
