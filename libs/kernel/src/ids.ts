/** Crockford's base 32 in lower case, in ASCII order: encoded texts sort like the numbers. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
/** All pairs of digits, to encode two digits per step. */
const PAIRS = [...ALPHABET].flatMap(first => [...ALPHABET].map(second => first + second));
const LAST_MS = 2 ** 48 - 1;
/** The random part is kept as two halves, each an exact integer. */
const HALF = 2 ** 40;
const RANDOM_BYTES = 10;

/** A prefix that names the kind of object: `in_`, `sub_`, `pay_`, … */
export type IdPrefix = `${string}_`;

/**
 * An id that sorts by creation time: the prefix and 26 characters, `in_01jd7w3k5g8zq4n1x0vbt6hm2c`.
 * The layout is ULID's: 48 bits of unix milliseconds, then 80 random bits, in Crockford's base 32
 * (https://github.com/ulid/spec), but in lower case. Hard to guess but not a secret; it reveals its creation time.
 * Throws RangeError if the time does not fit or `randomBytes` is not 10 bytes.
 */
export function newId(prefix: IdPrefix, nowMs: number, randomBytes: Uint8Array): string {
  const [high, low] = halves(randomBytes);
  return prefix + headOf(nowMs, high) + encode(low, 8);
}

/**
 * Creates a generator of unique, ascending ids, also within one millisecond and when the clock is
 * set back: the random part is then incremented, as in ULID's monotonic mode. `nowMs` is unix milliseconds;
 * `random` returns that many random bytes.
 */
export function idGenerator(nowMs: () => number, random: (bytes: number) => Uint8Array): (prefix: IdPrefix) => string {
  let lastMs = -1;
  let high = 0;
  let low = 0;
  /** The time part, shared by ids of one millisecond. */
  let head = '';
  return prefix => {
    const ms = nowMs();
    // not `ms > lastMs`: NaN must also take this branch, which refuses it
    if (!(ms <= lastMs)) {
      [high, low] = halves(random(RANDOM_BYTES));
      head = headOf(ms, high);
      lastMs = ms;
    } else if (++low === HALF) {
      low = 0;
      if (++high === HALF) {
        high = 0;
        lastMs++;
      }
      head = headOf(lastMs, high);
    }
    return prefix + head + encode(low, 8);
  };
}

function headOf(ms: number, high: number): string {
  if (!Number.isInteger(ms) || ms < 0 || ms > LAST_MS) throw new RangeError(`an id at ${ms} ms`);
  return encode(ms, 10) + encode(high, 8);
}

function halves(bytes: Uint8Array): [number, number] {
  if (bytes.length !== RANDOM_BYTES) throw new RangeError(`${bytes.length} random bytes instead of ${RANDOM_BYTES}`);
  const number = (half: Uint8Array) => half.reduce((value, byte) => value * 256 + byte, 0);
  return [number(bytes.subarray(0, 5)), number(bytes.subarray(5))];
}

/** Encodes an even number of digits. */
function encode(value: number, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest = Math.floor(rest / 1024)) text = PAIRS[rest % 1024] + text;
  return text;
}
