/** Lengths in seconds of the tallied spans, largest first. */
const spans = [86_400, 60] as const;

/** A half-open part of a time range, tallied in spans of `span` seconds; 1 for not tallied. */
export interface Part {
  span: number;
  from: number;
  to: number;
}

/** Splits a range of seconds into whole days, whole minutes around them and seconds at the edges; no part is empty. */
export function parts(from: number, to: number, [span, ...finer]: readonly number[] = spans): Part[] {
  if (from >= to) return [];
  if (span === undefined) return [{ span: 1, from, to }];
  const first = Math.ceil(from / span) * span;
  const last = Math.floor(to / span) * span;
  if (first >= last) return parts(from, to, finer);
  return [...parts(from, first, finer), { span, from: first, to: last }, ...parts(last, to, finer)];
}
