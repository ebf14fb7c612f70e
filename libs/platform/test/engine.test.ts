import { Session } from 'node:inspector/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { collectWhenIdle } from '../src/index.js';

/** Milliseconds. */
const look = 5_000;

describe('memory is given back', () => {
  let used = 0;

  /** Collections within a look, in which the process uses so many milliseconds of a core. */
  const collectionsAfter = async (ms: number) => {
    const collected = jest.spyOn(Session.prototype, 'post').mockClear();
    used += ms * 1000;
    await jest.advanceTimersByTimeAsync(look);
    return collected.mock.calls.map(String).filter(method => method === 'HeapProfiler.collectGarbage').length;
  };

  beforeEach(() => {
    used = 0;
    jest.useFakeTimers();
    jest.spyOn(process, 'cpuUsage').mockImplementation(before => ({ user: used - (before?.user ?? 0), system: 0 }));
    collectWhenIdle();
  });

  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  it('once a process has started and is idle, and not again until it has worked', async () => {
    expect(await collectionsAfter(800)).toBe(0);
    expect(await collectionsAfter(10)).toBe(1);
    expect(await collectionsAfter(10)).toBe(0);
    expect(await collectionsAfter(249)).toBe(0);
  });

  it('never while it works, and once after each time of work', async () => {
    expect(await collectionsAfter(250)).toBe(0);
    expect(await collectionsAfter(4_000)).toBe(0);
    expect(await collectionsAfter(20)).toBe(1);
    for (let looked = 0; looked < 12; looked++) expect(await collectionsAfter(3_000)).toBe(0);
    expect(await collectionsAfter(20)).toBe(1);
  });

  it('once a minute at most, where times of work are short', async () => {
    expect(await collectionsAfter(20)).toBe(1);
    for (let looked = 0; looked < 6; looked++) {
      expect(await collectionsAfter(300)).toBe(0);
      expect(await collectionsAfter(20)).toBe(0);
    }
    expect(await collectionsAfter(20)).toBe(1);
  });
});
