import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { actionOf, scenarioOf } from '../simulate/scenario.js';
import { printed } from '../simulate/timeline.js';

const folder = path.join(import.meta.dirname, '../simulate/scenarios');

describe('scenarios of npm run simulate', () => {
  const files = readdirSync(folder);

  it('are four, and each can be used', () => {
    expect(files).toHaveLength(4);
    for (const file of files)
      expect(scenarioOf(readFileSync(path.join(folder, file), 'utf8')).steps.length).toBeGreaterThan(3);
  });

  it('are refused with everything that is wrong', () => {
    expect(() => scenarioOf('title: [')).toThrow(/^the scenario is not YAML/);
    expect(() => scenarioOf('title: x')).toThrow(/plans: .*\n.*users: .*\n.*steps: .*\n.*until: /s);
    const wrong = `
title: x
plans: {}
users: { ada: {} }
until: 10d
steps:
  - { at: 20d, user: eva, cancel: {}, keep: {} }
  - { at: 1d, user: ada }
  - { at: 2d, happened: 3d, user: ada, usage: {} }
  - { at: 2d, happened: 1d, user: ada, keep: {} }`;
    expect(() => scenarioOf(wrong)).toThrow(
      /steps\.0: must have one of .*\n.*there is no user eva\n.*is after the end\n.*steps\.1: must have one of/,
    );
    expect(() => scenarioOf(wrong)).toThrow(/steps\.2\.happened: must be .*\n.*steps\.3\.happened: must be /);
  });

  it('take their steps in order of time', () => {
    const { steps } = scenarioOf(
      `
title: x
plans: {}
users: { ada: {} }
until: 10d
steps:
  - { at: 2w, user: ada, cancel: {} }
  - { at: 12h, user: ada, keep: {} }`.replace('10d', '20d'),
    );
    expect(steps.map(each => [each.at, actionOf(each)])).toEqual([
      [43_200, 'keep'],
      [1_209_600, 'cancel'],
    ]);
  });
});

it('a timeline is in order of time, a step before what follows from it', () => {
  const entries = [
    { at: 60, rank: 2, line: 'invoice' },
    { at: 0, rank: 3, line: 'event' },
    { at: 60, rank: 1, line: 'step' },
  ];
  expect(printed(entries)).toBe('1970-01-01 00:00  event\n1970-01-01 00:01  step\n1970-01-01 00:01  invoice');
});
