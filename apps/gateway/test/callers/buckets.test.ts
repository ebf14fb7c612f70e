import { describe, expect, it } from '@jest/globals';
import { Buckets } from '../../src/callers/buckets.js';
import { traceparentOf } from '../../src/http/trace.js';

describe('a token bucket', () => {
  it('gives a burst at once, then its rate, and never more than the burst', () => {
    let nowMs = 0;
    const buckets = new Buckets(2, 3, () => nowMs);
    const take = () => buckets.take('a').allowed;
    expect([take(), take(), take(), take()]).toEqual([true, true, true, false]);
    nowMs += 499;
    expect(take()).toBe(false);
    nowMs += 1;
    expect([take(), take()]).toEqual([true, false]);
    nowMs += 60_000;
    expect([take(), take(), take(), take()]).toEqual([true, true, true, false]);
    expect(buckets.take('b').allowed).toBe(true);
  });

  it('tells how many are left, when it is full again and when to come back', () => {
    const buckets = new Buckets(2, 4, () => 0);
    expect(buckets.take('a')).toEqual({ allowed: true, limit: 4, remaining: 3, resetSeconds: 1, retrySeconds: 1 });
    for (let taken = 0; taken < 3; taken++) buckets.take('a');
    expect(buckets.take('a')).toMatchObject({ allowed: false, remaining: 0, resetSeconds: 2, retrySeconds: 1 });
  });

  it('does not run backwards with the clock', () => {
    let nowMs = 10_000;
    const buckets = new Buckets(1, 1, () => nowMs);
    buckets.take('a');
    nowMs = 0;
    expect(buckets.take('a').allowed).toBe(false);
  });

  it('is forgotten when it is full again, so that memory is bounded', () => {
    let nowMs = 0;
    const buckets = new Buckets(1, 2, () => nowMs, 2);
    buckets.take('a');
    nowMs += 5_000;
    buckets.take('b');
    buckets.take('b');
    buckets.take('c');
    expect(buckets.take('b').allowed).toBe(false);
    buckets.take('d');
    expect(buckets.take('d')).toMatchObject({ remaining: 0 });
  });
});

describe('a trace', () => {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  const parent = '00f067aa0ba902b7';

  it('goes on with a span of ours, and keeps whether it is sampled', () => {
    for (const flags of ['00', '01']) {
      const ours = traceparentOf(`00-${trace}-${parent}-${flags}`);
      expect(ours).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-${flags}$`));
      expect(ours).not.toContain(parent);
    }
    expect(traceparentOf(`01-${trace}-${parent}-01-more`)).toContain(trace);
  });

  it('starts here when there is none, or none that is valid', () => {
    const invalid = [
      undefined,
      '',
      'rubbish',
      `00-${trace.toUpperCase()}-${parent}-01`,
      `00-${'0'.repeat(32)}-${parent}-01`,
      `00-${trace}-${'0'.repeat(16)}-01`,
      `ff-${trace}-${parent}-01`,
      `00-${trace}-${parent}-01-more`,
      `00-${trace}-${parent}-01\r\nx: y`,
    ];
    const started = invalid.map(traceparentOf);
    for (const traceparent of started) {
      expect(traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
      expect(traceparent).not.toContain(trace);
    }
    expect(new Set(started).size).toBe(invalid.length);
  });

  it('has random ids without end', () => {
    const many = Array.from({ length: 2_000 }, () => traceparentOf(undefined));
    expect(new Set(many).size).toBe(many.length);
  });
});
