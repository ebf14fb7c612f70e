/** Crockford's base 32 in lower case, in the order of its codes: text sorts as the numbers do. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
/** Every two digits, so that an id is put together in half as many steps. */
const PAIRS = [...ALPHABET].flatMap(first => [...ALPHABET].map(second => first + second));
const LAST_MS = 2 ** 48 - 1;
/** The random part is kept as two halves that a number holds exactly. */
const HALF = 2 ** 40;
const RANDOM_BYTES = 10;

/** `in_`, `sub_`, `pay_`, …: what an id is of. */
export type IdPrefix = `${string}_`;

/**
 * An id that sorts by the time it was made: the prefix and 26 characters, `in_01jd7w3k5g8zq4n1x0vbt6hm2c`.
 * The layout is ULID's: 48 bits of unix milliseconds, then 80 random bits, in Crockford's base 32
 * (https://github.com/ulid/spec), but in lower case. It is hard to guess, yet no secret: it tells when it was made.
 * Throws RangeError where the time does not fit or `randomBytes` is not 10 bytes.
 */
export function newId(prefix: IdPrefix, nowMs: number, randomBytes: Uint8Array): string {
  const [high, low] = halves(randomBytes);
  return prefix + headOf(nowMs, high) + encode(low, 8);
}

/**
 * Makes ids that are unique and ascend in the order they were made, also within one millisecond and when the clock is
 * set back: the random part is then the last one plus one, as in ULID's monotonic form. `nowMs` is unix milliseconds;
 * `random` answers that many random bytes.
 */
export function idGenerator(nowMs: () => number, random: (bytes: number) => Uint8Array): (prefix: IdPrefix) => string {
  let lastMs = -1;
  let high = 0;
  let low = 0;
  /** What ids of one millisecond have in common. */
  let head = '';
  return prefix => {
    const ms = nowMs();
    // not `ms > lastMs`: what is no number goes there too, and is refused
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

/** An even number of digits. */
function encode(value: number, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest = Math.floor(rest / 1024)) text = PAIRS[rest % 1024] + text;
  return text;
}
