import type { Arrays } from '../sql/arrays.js';

// Arrays in PostgreSQL's binary format (array_send: dimensions, null flag, element type, length and lower bound, then
// length and bytes of each element), which saves escaping here and parsing there. It relies on behaviour of pg that is
// meant for bytea: a Buffer is sent as a binary parameter, whatever the parameter's type.

const oids = { bigint: 20, text: 25 } as const;
/** Texts up to this many characters are encoded here: calling V8's encoder takes longer than encoding them. */
const shortText = 64;

function textArray(values: readonly (string | null)[]): Buffer {
  let most = 0;
  for (const value of values) most += 4 + (value === null ? 0 : mostBytes(value));
  const { bytes, view, begin } = arrayOf(oids.text, values.length, values.includes(null), most);
  let at = begin;
  for (const value of values) {
    const length = value === null ? -1 : write(bytes, value, at + 4);
    view.setInt32(at, length);
    at += 4 + Math.max(length, 0);
  }
  return bytes.subarray(0, at);
}

function wholeArray(values: readonly unknown[]): Buffer {
  const { bytes, view, begin } = arrayOf(oids.bigint, values.length, false, values.length * 12);
  let at = begin;
  for (const value of values) {
    view.setInt32(at, 8);
    if (Number.isSafeInteger(value)) {
      // in two halves: converting each number to a bigint takes longer
      view.setInt32(at + 4, Math.floor((value as number) / 2 ** 32));
      view.setUint32(at + 8, (value as number) >>> 0);
    } else {
      view.setBigInt64(at + 4, ofInt64(BigInt(value as bigint)));
    }
    at += 12;
  }
  return bytes;
}

/** An array's header, and room for its elements from `begin` on. An empty array has no dimension. */
function arrayOf(oid: number, length: number, nulls: boolean, room: number) {
  const head = length === 0 ? [0, 0, oid] : [1, nulls ? 1 : 0, oid, length, 1];
  const begin = head.length * 4;
  const bytes = Buffer.allocUnsafe(begin + room);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  head.forEach((value, at) => {
    view.setInt32(at * 4, value);
  });
  return { bytes, view, begin };
}

function ofInt64(value: bigint): bigint {
  if (BigInt.asIntN(64, value) !== value) throw new RangeError(`${value} does not fit 64 bits`);
  return value;
}

export const binaryArrays: Arrays = { texts: textArray, wholes: wholeArray };

const mostBytes = (text: string) => (text.length > shortText ? Buffer.byteLength(text) : text.length * 3);

/** Writes a text as UTF-8; returns its length in bytes. */
function write(bytes: Buffer, text: string, at: number): number {
  const { length } = text;
  if (length > shortText) return bytes.write(text, at);
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index);
    if (code > 127) return bytes.write(text, at);
    bytes[at + index] = code;
  }
  return length;
}
