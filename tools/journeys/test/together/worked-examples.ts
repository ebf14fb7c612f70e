import { beforeAll, describe, expect, it } from '@jest/globals';
import { changes } from '../examples/changes.js';
import { collecting } from '../examples/collecting.js';
import { corrections } from '../examples/corrections.js';
import { leapYears, periods } from '../examples/periods.js';
import { Seller } from '../examples/seller.js';
import { live, type TimeLine } from '../examples/time-line.js';
import { strictUsage, usage } from '../examples/usage.js';
import { usageChanges } from '../examples/usage-changes.js';
import { sharedStand } from '../stand.js';

/*
 * The worked examples of the rules for periods, changes, trials and usage, through HTTP on test clocks. Those that can share a
 * clock are lived through side by side by one merchant.
 */

const timeLines: Record<string, TimeLine> = {
  changes,
  corrections,
  periods,
  leapYears,
  collecting,
  usage,
  usageChanges,
  strictUsage,
};

describe('worked examples', () => {
  const seen = new Map<string, Promise<unknown>>();
  beforeAll(async () => {
    const stand = await sharedStand();
    const lives: ReturnType<typeof live>[] = [];
    for (const [name, timeLine] of Object.entries(timeLines)) {
      lives.push(live(await Seller.open(stand, name), timeLine));
    }
    for (const lived of await Promise.all(lives)) for (const [title, sight] of lived) seen.set(title, sight);
  }, 300_000);

  it.each(Object.values(timeLines).flatMap(({ examples }) => examples))('$rule: $title', async ({ title, sees }) => {
    expect(await seen.get(title)).toEqual(sees);
  });

  it('leave nothing under way', async () => {
    expect(seen.size).toBe(Object.values(timeLines).flatMap(({ examples }) => examples).length);
    await (await sharedStand()).quiet();
  });
});
