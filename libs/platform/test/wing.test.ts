import { describe, expect, it } from '@jest/globals';
import { joined } from '@recur/platform';
import { thingAggregate, things } from './sample.js';

describe('wings that are joined', () => {
  it('are one: their tables and handlers stand in the order of the wings', () => {
    class First {}
    class Second {}
    const whole = joined([
      { tables: [things], controllers: [First] },
      { controllers: [Second], aggregates: { thing: thingAggregate } },
    ]);
    expect(whole.tables).toEqual([things]);
    expect(whole.controllers).toEqual([First, Second]);
    expect(whole.aggregates).toEqual({ thing: thingAggregate });
  });

  it('are refused where two have the same aggregate', () => {
    const wing = { aggregates: { thing: thingAggregate } };
    expect(() => joined([wing, wing])).toThrow('two wings have the aggregate thing');
  });
});
