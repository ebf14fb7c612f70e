import { gatewayLimits } from '../limits.js';

export interface Allowance {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Seconds until the bucket is full again. */
  resetSeconds: number;
  /** Seconds until the next request is allowed. */
  retrySeconds: number;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

/** Token buckets of this replica: each id may do `burst` requests at once and `perSecond` in the long run. */
export class Buckets {
  private readonly buckets = new Map<string, Bucket>();

  constructor(
    private readonly perSecond: number,
    private readonly burst: number,
    private readonly nowMs: () => number,
    private readonly most: number = gatewayLimits.buckets,
  ) {}

  take(id: string): Allowance {
    const atMs = this.nowMs();
    const bucket = this.buckets.get(id) ?? this.create(id, atMs);
    bucket.tokens = this.filled(bucket, atMs);
    bucket.atMs = atMs;
    const allowed = bucket.tokens >= 1;
    if (allowed) bucket.tokens--;
    return {
      allowed,
      limit: this.burst,
      remaining: Math.floor(bucket.tokens),
      resetSeconds: Math.ceil((this.burst - bucket.tokens) / this.perSecond),
      retrySeconds: Math.max(1, Math.ceil((1 - bucket.tokens) / this.perSecond)),
    };
  }

  private filled(bucket: Bucket, atMs: number): number {
    return Math.min(this.burst, bucket.tokens + (Math.max(0, atMs - bucket.atMs) / 1000) * this.perSecond);
  }

  private create(id: string, atMs: number): Bucket {
    if (this.buckets.size >= this.most) this.makeRoom(atMs);
    const bucket = { tokens: this.burst, atMs };
    this.buckets.set(id, bucket);
    return bucket;
  }

  /** Forgets the buckets that are full again, which changes nothing; if all are in use, the one made first. */
  private makeRoom(atMs: number): void {
    for (const [id, bucket] of this.buckets) {
      if (this.filled(bucket, atMs) === this.burst) this.buckets.delete(id);
    }
    if (this.buckets.size < this.most) return;
    for (const id of this.buckets.keys()) {
      this.buckets.delete(id);
      return;
    }
  }
}
