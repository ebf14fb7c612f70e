import { describe, expect, it } from '@jest/globals';
import { ingestUsageEvents, ndjsonLines, validate } from '@recur/contracts';
import { eventLines } from '../../src/usage/events/usage-events.js';

const good = JSON.stringify({ userId: 1, metricCode: 'calls', externalEventId: 'e1' });

describe('the lines of an NDJSON text', () => {
  it('are counted from 1, with blank ones, and those that are no events are named with a reason', async () => {
    const deep = `{"metricProperties":${'['.repeat(70)}${']'.repeat(70)}}`;
    const long = `{"metricProperties":{"a":[${'0,'.repeat(3_000)}0]}}`;
    const { events, refused } = await eventLines(['', good, 'x', '{}', deep, long, `${good}\r`, '[]'].join('\n'));
    expect(events.map(({ line, event }) => [line, event.externalEventId])).toEqual([
      [2, 'e1'],
      [7, 'e1'],
    ]);
    expect(refused).toEqual([
      { line: 3, code: 51, message: 'The line is not valid JSON' },
      { line: 4, code: 51, message: 'metricCode is required' },
      { line: 5, code: 51, message: 'The line is not valid JSON' },
      { line: 6, code: 51, message: 'The line is not valid JSON' },
      { line: 8, code: 51, message: 'The input must be an object' },
    ]);
  });

  it('are all read though no more than 1000 refusals are told', async () => {
    const { events, refused } = await eventLines(`${'{}\n'.repeat(5_000)}${good}`);
    expect([events.map(({ line }) => line), refused.length, refused.at(-1)?.line]).toEqual([[5_001], 1_000, 1_000]);
  });

  it('let others have their turns meanwhile, however short or long they are', async () => {
    for (const [text, fewest] of [
      ['{}\n'.repeat(10_000), 50],
      [`{"a":"${'x'.repeat(20_000)}"}\n`.repeat(50), 40],
    ] as const) {
      let turns = 0;
      let isDone = false;
      const count = () => {
        turns++;
        if (!isDone) setImmediate(count);
      };
      setImmediate(count);
      await eventLines(text);
      isDone = true;
      expect(turns).toBeGreaterThan(fewest);
    }
  });

  it('are at most 10000, whoever sends them', () => {
    const isTaken = (lines: string) => validate(ingestUsageEvents.input, { lines }).ok;
    const full = '{}\n'.repeat(ndjsonLines);
    expect([isTaken(full), isTaken(`${full}{}`), isTaken('\n'.repeat(ndjsonLines + 1))]).toEqual([true, false, false]);
    expect(validate(ingestUsageEvents.input, { lines: `${full}{}` })).toMatchObject({
      issues: [{ path: '/lines', message: 'lines must have at most 10000 lines' }],
    });
  });
});
