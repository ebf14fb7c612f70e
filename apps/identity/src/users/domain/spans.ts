/** Seconds of the spans in which what happened is counted ahead, largest first. */
const spans = [86_400, 60] as const;

/** A part of a time range, `from` included and `to` not; `span` seconds long parts of it are counted, or 1. */
export interface Part {
  span: number;
  from: number;
  to: number;
}

/** Splits a range of seconds into whole days, whole minutes around them, and seconds at the edges; none is empty. */
export function parts(from: number, to: number, [span, ...finer]: readonly number[] = spans): Part[] {
  if (from >= to) return [];
  if (span === undefined) return [{ span: 1, from, to }];
  const first = Math.ceil(from / span) * span;
  const last = Math.floor(to / span) * span;
  if (first >= last) return parts(from, to, finer);
  return [...parts(from, first, finer), { span, from: first, to: last }, ...parts(last, to, finer)];
}
