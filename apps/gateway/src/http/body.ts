import { isUtf8 } from 'node:buffer';
import { membersIn, ndjsonLines } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { visit } from 'jsonc-parser';
import { gatewayLimits } from '../limits.js';

const newline = '\n'.charCodeAt(0);
const space = ' '.charCodeAt(0);

/** The media type of bodies with a JSON value per line. */
export const ndjsonType = 'application/x-ndjson';

/** The media type of forms with a file. */
export const formType = 'multipart/form-data';
/** The most fields of a form. */
const formParts = 20;

/** Charges tokens of the rate limit for what a body holds. Throws Rejected where the caller may not go on. */
export type Charge = (tokens: number) => void;
const free: Charge = () => {};

/**
 * NDJSON as text, at a token for each line that is not blank. Throws Rejected unless it is valid UTF-8, and where it has
 * too many lines, of which blank ones count.
 */
export function linesOf(body: Buffer = Buffer.alloc(0), charge: Charge = free): string {
  charge(filledLines(body));
  if (!isUtf8(body)) throw new Rejected('malformed_json', 'The body is not valid UTF-8');
  return body.toString();
}

/**
 * The JSON value of a body, at a token for each `membersPerToken`; an empty one is `{}`. Throws Rejected when it is no JSON
 * text, nested too deeply, or has too many members.
 */
export function jsonOf(body: Buffer | undefined, charge: Charge = free): unknown {
  if (body === undefined || body.length === 0) return {};
  if (!isUtf8(body)) throw new Rejected('malformed_json', 'The body is not valid UTF-8');
  const members = membersIn(body, { depth: gatewayLimits.bodyDepth, members: gatewayLimits.bodyMembers });
  if (members === 'depth') throw invalid('', `The body is nested more than ${gatewayLimits.bodyDepth} deep`);
  if (members === 'members') throw invalid('', `The body has more than ${gatewayLimits.bodyMembers} members`);
  charge(Math.floor(members / gatewayLimits.membersPerToken));
  try {
    return JSON.parse(body.toString());
  } catch {
    throw new Rejected('malformed_json', `The body is not valid JSON${faultIn(body.toString())}`);
  }
}

/**
 * The fields of a form as an object: texts, and files as their name and bytes in base64; the field `file` is one. Throws
 * Rejected for a body that is not of the type, which names its boundary, and for too many fields.
 */
export async function formOf(body: Buffer = Buffer.alloc(0), type: string, file: string): Promise<unknown> {
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData().catch(() => {
    throw invalid('', `The body is not valid ${formType}`);
  });
  const parts = [...form];
  if (parts.length > formParts) throw invalid('', `The form has more than ${formParts} fields`);
  if (typeof form.get(file) === 'string') throw invalid(`/${file}`, `${file} must be sent as a file, not as text`);
  const fields = await Promise.all(parts.map(async ([name, value]) => [name, await sentIn(value)] as const));
  return Object.fromEntries(fields);
}

const sentIn = async (value: string | File) =>
  typeof value === 'string'
    ? value
    : { name: value.name, base64: Buffer.from(await value.arrayBuffer()).toString('base64') };

/** Faults of JSON texts by the codes of the parser that finds them. */
const faults: Readonly<Record<number, string>> = {
  1: 'an unexpected symbol',
  2: 'a number is not written as JSON writes it',
  3: 'a property name in double quotes is expected',
  4: 'a value is expected',
  5: 'a colon is expected',
  6: 'a comma is expected',
  7: 'a closing brace is expected',
  8: 'a closing bracket is expected',
  9: 'the value is over, and more follows',
  10: 'JSON has no comments',
  12: 'a string does not end on its line',
  13: 'a number is incomplete',
  14: 'a Unicode escape has four hexadecimal digits',
  15: 'a backslash does not begin an escape of JSON',
  16: 'a control character in a string has to be escaped',
};

/** Line and column of the first fault of a text, and the rule that it breaks: never part of the text itself. */
function faultIn(text: string): string {
  let found = '';
  visit(
    text,
    {
      onError: (code, _offset, _length, line, column) => {
        found ||= `: line ${line + 1}, column ${column + 1}: ${faults[code] ?? 'a fault'}`;
      },
    },
    { disallowComments: true },
  );
  return found;
}

/** Lines that are not blank. Throws Rejected where there are too many lines. */
function filledLines(body: Buffer): number {
  let [lines, filled] = [0, 0];
  let isBlank = true;
  for (let at = 0; at < body.length; at++) {
    const byte = body[at] as number;
    if (byte === newline) isBlank = true;
    else if (isBlank && byte > space) {
      isBlank = false;
      filled++;
    }
    // a last line may end with the body
    if ((byte === newline || at === body.length - 1) && ++lines > ndjsonLines) {
      throw invalid('', `The body has more than ${ndjsonLines} lines`);
    }
  }
  return filled;
}
