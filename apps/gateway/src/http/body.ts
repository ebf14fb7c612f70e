import { isUtf8 } from 'node:buffer';
import { membersIn, ndjsonLines } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { gatewayLimits } from '../limits.js';

const newline = '\n'.charCodeAt(0);
const space = ' '.charCodeAt(0);

/** The media type of bodies with a JSON value per line. */
export const ndjsonType = 'application/x-ndjson';

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
    // the parser's own message would repeat part of the body
    throw new Rejected('malformed_json');
  }
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
