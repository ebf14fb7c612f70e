import { isUtf8 } from 'node:buffer';
import { invalid, Rejected } from '@recur/kernel';
import { gatewayLimits } from '../limits.js';

const [quote, backslash, openList, closeList, openObject, closeObject, comma] = [...'"\\[]{},'].map(c =>
  c.charCodeAt(0),
);

/** The media type of bodies with a JSON value per line. */
export const ndjsonType = 'application/x-ndjson';

/** A body as text. Throws Rejected unless it is valid UTF-8. */
export function textOf(body: Buffer = Buffer.alloc(0)): string {
  if (!isUtf8(body)) throw new Rejected('malformed_json', 'The body is not valid UTF-8');
  return body.toString();
}

/** The JSON value of a body; an empty one is `{}`. Throws Rejected when it is no JSON text, nested too deeply, or has too many members. */
export function jsonOf(body: Buffer | undefined): unknown {
  if (body === undefined || body.length === 0) return {};
  if (!isUtf8(body)) throw new Rejected('malformed_json', 'The body is not valid UTF-8');
  const excess = excessIn(body);
  if (excess !== undefined) throw invalid('', `The body ${excess}`);
  try {
    return JSON.parse(body.toString());
  } catch {
    // the parser's own message would repeat part of the body
    throw new Rejected('malformed_json');
  }
}

/**
 * Names the excess that makes a body too costly to be parsed: nesting too deep for code that recurses over it, such as
 * schemas and JSON.stringify, or too many members. A list or object counts as one member at least, each comma as another.
 */
function excessIn(body: Buffer): string | undefined {
  if (body.length <= gatewayLimits.bodyDepth) return undefined;
  let depth = 0;
  let members = 0;
  let inText = false;
  for (let at = 0; at < body.length; at++) {
    const byte = body[at];
    if (inText) {
      if (byte === backslash) at++;
      else if (byte === quote) inText = false;
    } else if (byte === quote) {
      inText = true;
    } else if (byte === openObject || byte === openList) {
      members++;
      if (++depth > gatewayLimits.bodyDepth) return `is nested more than ${gatewayLimits.bodyDepth} deep`;
    } else if (byte === closeObject || byte === closeList) {
      depth--;
    } else if (byte === comma && ++members > gatewayLimits.bodyMembers) {
      return `has more than ${gatewayLimits.bodyMembers} members`;
    }
  }
  return members > gatewayLimits.bodyMembers ? `has more than ${gatewayLimits.bodyMembers} members` : undefined;
}
