/** Offsets change at quarters of hours. */
const bucketSeconds = 900;
const limits = { kept: 100_000, seconds: 8_640_000_000_000 } as const;

/** Writes unix seconds as `YYYY-MM-DD HH:MM:SS` in an IANA zone, '' for 0; offsets are looked up once per quarter of an hour. */
export function timesIn(zone: string): (seconds: number) => string {
  const offsets = new Map<number, number>();
  const offsetAt = offsetsOf(zone);
  return seconds => {
    if (seconds === 0) return '';
    const bucket = Math.floor(seconds / bucketSeconds);
    let offset = offsets.get(bucket);
    if (offset === undefined) {
      if (offsets.size >= limits.kept) offsets.clear();
      offset = offsetAt(bucket * bucketSeconds);
      offsets.set(bucket, offset);
    }
    const local = seconds + offset;
    if (Math.abs(local) >= limits.seconds) return String(seconds);
    return new Date(local * 1_000).toISOString().slice(0, -5).replace('T', ' ');
  };
}

/** The offset of a zone from UTC at a time, in seconds. */
function offsetsOf(zone: string): (seconds: number) => number {
  if (zone === 'UTC') return () => 0;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    era: 'short',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return seconds => {
    if (Math.abs(seconds) >= limits.seconds) return 0;
    const parts = new Map(format.formatToParts(seconds * 1_000).map(({ type, value }) => [type, value]));
    const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.get(type));
    const year = parts.get('era') === 'BC' ? 1 - part('year') : part('year');
    const local = new Date(0);
    local.setUTCFullYear(year, part('month') - 1, part('day'));
    local.setUTCHours(part('hour'), part('minute'), part('second'));
    return local.getTime() / 1_000 - seconds;
  };
}
