import { describe, expect, it } from '@jest/globals';
import { deviations } from '../src/deviations.js';
import { operations } from '../src/operations.js';
import { lifecycleContract, problems, wireContract } from './wire.js';

describe('the contracts against the wire', () => {
  it('have every operation and every field', () => {
    expect(problems(wireContract(), operations, deviations)).toEqual([]);
  });
  it('lc', () => {
    expect(problems(lifecycleContract(), operations)).toEqual([]);
  });
});
