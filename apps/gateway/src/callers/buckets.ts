import { LRUCache } from 'lru-cache';
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

/**
 * Token buckets of this replica: each id may do `burst` requests at once and `perSecond` in the long run. Memory is
 * bounded: of more ids than `most`, the one that was quiet longest is forgotten.
 */
export class Buckets {
  private readonly buckets: LRUCache<string, Bucket>;

  constructor(
    private readonly perSecond: number,
    readonly burst: number,
    private readonly nowMs: () => number,
    most: number = gatewayLimits.buckets,
  ) {
    this.buckets = new LRUCache({ max: most });
  }

  /**
   * Takes `cost` tokens, where there is at least one. What costs more than is left is allowed and leaves a debt, so that
   * a cost above the burst is not refused for ever; the next request waits until the debt is paid.
   */
  take(id: string, cost = 1): Allowance {
    const bucket = this.bucketOf(id);
    const allowed = bucket.tokens >= 1;
    if (allowed) bucket.tokens -= cost;
    return this.allowance(bucket, allowed);
  }

  /** Takes more tokens, or gives some back where `tokens` is negative; nothing is refused. */
  charge(id: string, tokens: number): void {
    const bucket = this.bucketOf(id);
    bucket.tokens = Math.min(this.burst, bucket.tokens - tokens);
  }

  /**
   * Takes more tokens for what was admitted at a cost of `paid`. Refused, and not taken, where the caller's other requests
   * have used up the bucket since: of many that are admitted in one instant, only the first may cost more than is left.
   */
  takeMore(id: string, tokens: number, paid: number): Allowance {
    const bucket = this.bucketOf(id);
    const allowed = bucket.tokens + paid >= 1;
    if (allowed) bucket.tokens -= tokens;
    return this.allowance(bucket, allowed);
  }

  /** Tokens taken and not yet restored, and when the last request came (unix ms); takes none. */
  used(id: string): { tokens: number; atMs: number } {
    const bucket = this.buckets.peek(id);
    if (bucket === undefined) return { tokens: 0, atMs: Number.NEGATIVE_INFINITY };
    return { tokens: this.burst - this.filled(bucket, this.nowMs()), atMs: bucket.atMs };
  }

  private bucketOf(id: string): Bucket {
    const atMs = this.nowMs();
    const known = this.buckets.get(id);
    if (known !== undefined) {
      known.tokens = this.filled(known, atMs);
      known.atMs = atMs;
      return known;
    }
    const bucket = { tokens: this.burst, atMs };
    this.buckets.set(id, bucket);
    return bucket;
  }

  private filled(bucket: Bucket, atMs: number): number {
    return Math.min(this.burst, bucket.tokens + (Math.max(0, atMs - bucket.atMs) / 1000) * this.perSecond);
  }

  private allowance({ tokens }: Bucket, allowed: boolean): Allowance {
    return {
      allowed,
      limit: this.burst,
      remaining: Math.max(0, Math.floor(tokens)),
      resetSeconds: Math.ceil((this.burst - tokens) / this.perSecond),
      retrySeconds: Math.max(1, Math.ceil((1 - tokens) / this.perSecond)),
    };
  }
}
