import { isUtf8 } from 'node:buffer';
import { invalid, Rejected } from '@recur/kernel';
import { gatewayLimits } from '../limits.js';

const [quote, backslash, openList, closeList, openObject, closeObject] = [...'"\\[]{}'].map(c => c.charCodeAt(0));

/** The JSON value of a body; an empty one is `{}`. Throws Rejected when it is no JSON text, or nested too deeply. */
export function jsonOf(body: Buffer | undefined): unknown {
  if (body === undefined || body.length === 0) return {};
  if (!isUtf8(body)) throw new Rejected('malformed_json', 'The body is not valid UTF-8');
  if (isTooDeep(body)) throw invalid('', `The body is nested more than ${gatewayLimits.bodyDepth} deep`);
  try {
    return JSON.parse(body.toString());
  } catch {
    // the parser's own message would repeat part of the body
    throw new Rejected('malformed_json');
  }
}

/** Bounds nesting before anything recurses over it, such as schemas and JSON.stringify. */
function isTooDeep(body: Buffer): boolean {
  if (body.length <= gatewayLimits.bodyDepth) return false;
  let depth = 0;
  let inText = false;
  for (let at = 0; at < body.length; at++) {
    const byte = body[at];
    if (inText) {
      if (byte === backslash) at++;
      else if (byte === quote) inText = false;
    } else if (byte === quote) {
      inText = true;
    } else if (byte === openObject || byte === openList) {
      if (++depth > gatewayLimits.bodyDepth) return true;
    } else if (byte === closeObject || byte === closeList) {
      depth--;
    }
  }
  return false;
}
