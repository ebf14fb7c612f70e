import { errors, UsageEventInput, validate } from '@recur/contracts';

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

/** `depth`: nesting of a line. */
const limits = { depth: 64 } as const;

/** The events of an NDJSON text, a line each, and the lines that are none. Blank lines count, and are skipped. */
export function linesIn(text: string): { events: Line[]; refused: RefusedLine[] } {
  const events: Line[] = [];
  const refused: RefusedLine[] = [];
  for (const [at, json] of text.split('\n').entries()) {
    if (json.trim() === '') continue;
    const line = at + 1;
    const value = valueIn(json);
    if (value === undefined) {
      refused.push({ line, code: errors.malformed_json.code, message: 'The line is not valid JSON' });
      continue;
    }
    const checked = validate(UsageEventInput, value);
    if (checked.ok) {
      events.push({ line, event: checked.value });
      continue;
    }
    const [issue] = checked.issues;
    const message = issue ? `${issue.path.slice(1)} ${issue.message}`.trim() : errors.invalid_parameters.message;
    refused.push({ line, code: errors.invalid_parameters.code, message });
  }
  return { events, refused };
}

function valueIn(json: string): unknown {
  if (isDeep(json)) return undefined;
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** Nested too deeply for code that recurses over it; brackets in texts count too, which no usage event needs so many of. */
function isDeep(json: string): boolean {
  if (json.length <= limits.depth) return false;
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === 0x7b || code === 0x5b) depth++;
    else if (code === 0x7d || code === 0x5d) depth--;
    if (depth > limits.depth) return true;
  }
  return false;
}
