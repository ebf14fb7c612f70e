import type { Row } from '../../ask.js';

/** The price per full period of a subscription since a moment. */
export interface Terms {
  since: number;
  price: number;
}

interface Period {
  seq: number;
  start: number;
  end: number;
  isPaid: boolean;
}

/** The life of a subscription as whoever asked for it knows it: what it sold when, and in which periods. */
export class Life {
  private readonly terms: Terms[];
  private periods: Period[] = [];
  /** Ends of periods before a change ended them early, by their number. */
  private readonly fullEnds = new Map<number, number>();
  private endsAt = Number.POSITIVE_INFINITY;
  /** Changes, and the end if it gave something back: each rounds up to four lines in up to two periods. */
  private roundings = 0;

  constructor(
    readonly id: string,
    price: number,
  ) {
    this.terms = [{ since: 0, price }];
  }

  /** A change that holds from a moment on; one that still waits gives way to it. */
  changed(price: number, since: number, now: number): void {
    const waiting = this.terms.findIndex(terms => terms.since > now);
    if (waiting > 0) this.terms.splice(waiting);
    this.terms.push({ since, price });
    this.roundings++;
  }

  /** The end: what is sold after it is given back. */
  ended(at: number): void {
    this.endsAt = at;
    this.roundings++;
  }

  /** Takes note of the periods as they are now. */
  see(rows: readonly Row[], now: number): void {
    this.periods = rows
      .map(({ seq, start_at, end_at, state }) => ({
        seq: Number(seq),
        start: Number(start_at),
        end: Number(end_at),
        isPaid: state === 'paid',
      }))
      .toSorted((a, b) => a.start - b.start);
    for (const { seq, end } of this.periods) if (end > now) this.fullEnds.set(seq, end);
  }

  /** Where a period does not begin with the end of the one before. */
  get gaps(): Period[] {
    return this.periods.filter(({ start }, at) => at > 0 && start !== this.periods[at - 1]?.end);
  }

  /** The most by which what was billed may differ from the price over time, in minor units. */
  get tolerance(): number {
    return 1 + 4 * this.roundings;
  }

  /** The price over time of the paid periods, exactly. */
  get worth(): number {
    let worth = 0;
    for (const { seq, start, end, isPaid } of this.periods) {
      if (!isPaid) continue;
      const length = Math.max(end, this.fullEnds.get(seq) ?? end) - start;
      for (const [at, { since, price }] of this.terms.entries()) {
        const until = this.terms[at + 1]?.since ?? Number.POSITIVE_INFINITY;
        const seconds = Math.min(end, until, this.endsAt) - Math.max(start, since);
        if (seconds > 0) worth += (price * seconds) / length;
      }
    }
    return worth;
  }
}
