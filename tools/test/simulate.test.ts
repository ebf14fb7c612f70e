import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { actionOf, scenarioOf } from '../simulate/scenario.js';
import { fileOf } from '../simulate/simulate.js';
import { printed } from '../simulate/timeline.js';

const folder = path.join(import.meta.dirname, '../simulate/scenarios');

const short = `
title: x
plans: {}
users: { ada: {} }
until: 10d
steps:
  - { at: 1d, user: ada, keep: {} }
`;

describe('scenarios of npm run simulate', () => {
  const files = readdirSync(folder).filter(file => file.endsWith('.yaml'));

  it('are four, and each can be used', () => {
    expect(files).toHaveLength(4);
    for (const file of files)
      expect(scenarioOf(readFileSync(path.join(folder, file), 'utf8')).steps.length).toBeGreaterThan(3);
  });

  it('are found by name; a wrong one is answered with those that there are', () => {
    expect(fileOf(['usage'])).toBe(path.join(folder, 'usage.yaml'));
    const known = /credits, dunning, upgrade, usage, or a YAML file of your own/;
    for (const args of [['upgarde'], [], ['usage', 'upgrade']]) expect(() => fileOf(args)).toThrow(known);
    expect(() => fileOf(['upgarde'])).toThrow(/there is no scenario upgarde/);
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

  it('are refused where they start in the past, or today', () => {
    const at = (start: string) => () => scenarioOf(`${short}start: ${start}`, Date.UTC(2031, 4, 7, 12));
    const rule =
      /^the scenario cannot be used:\n {2}start: must be in the future, a day after 2031-05-07 \(UTC\), and is /;
    for (const start of ['2020-01-01', '2031-05-06', '2031-05-07']) expect(at(start)).toThrow(rule);
    expect(at('2031-05-08')().start).toBe('2031-05-08');
    expect(() => scenarioOf(`${short}start: 2020-01-01`)).toThrow(/start: must be in the future/);
    expect(scenarioOf(short).start).toBeUndefined();
  });

  it('take their steps in order of time', () => {
    const { steps } = scenarioOf(
      `${short.replace('10d', '20d').replace('1d,', '2w,')}  - { at: 12h, user: ada, cancel: {} }`,
    );
    expect(steps.map(each => [each.at, actionOf(each)])).toEqual([
      [43_200, 'cancel'],
      [1_209_600, 'keep'],
    ]);
  });
});

it('a timeline is in order of time to the minute, a step before what follows from it, and ids are short', () => {
  const entries = [
    { at: 60, rank: 2, line: `invoice in_${'b'.repeat(26)}` },
    { at: 61, rank: 3, id: 'ev_2', line: `event in_${'b'.repeat(26)}` },
    { at: 62, rank: 3, id: 'ev_1', line: `event in_${'a'.repeat(26)}` },
    { at: 0, rank: 3, line: 'event' },
    { at: 60, rank: 1, line: 'step' },
  ];
  expect(printed(entries)).toBe(
    ['00:00  event', '00:01  step', '00:01  invoice in_2', '00:01  event in_1', '00:01  event in_2']
      .map(line => `1970-01-01 ${line}`)
      .join('\n'),
  );
});
