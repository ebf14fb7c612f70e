/** A generator of its own for each course, so that one can be lived again by its seed (mulberry32). */
export class Random {
  constructor(private state: number) {}

  /** In [0, 1). */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  below = (bound: number): number => Math.floor(this.next() * bound);
  chance = (part: number): boolean => this.next() < part;
  pick = <T>(among: readonly T[]): T => among[this.below(among.length)] as T;
}
