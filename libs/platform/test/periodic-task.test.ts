import { expect, it } from '@jest/globals';
import { PeriodicTask } from '../src/work/periodic-task.js';

const never = 1_000_000;

/** PeriodicTask that last until `end` is called; `begun` resolves with the number of the next one that begins. */
function longRounds(everyMs: number) {
  const failures: unknown[] = [];
  let end: (failure?: Error) => void = () => undefined;
  let count = 0;
  let tell: (count: number) => void = () => undefined;
  const round = () =>
    new Promise<void>((resolve, reject) => {
      end = failure => (failure ? reject(failure) : resolve());
      tell(++count);
    });
  const rounds = new PeriodicTask(everyMs, round, error => failures.push(error));
  const begun = () =>
    new Promise<number>(resolve => {
      tell = resolve;
    });
  return { rounds, begun, failures, end: (failure?: Error) => end(failure), count: () => count };
}

it('rounds follow each other, also one that failed', async () => {
  const { rounds, begun, end, failures } = longRounds(1);
  rounds.start();
  const second = begun();
  const failure = new Error('the first');
  end(failure);
  expect(await second).toBe(2);
  expect(failures).toEqual([failure]);
  end();
  await rounds.stop();
});

it('who wakes them waits for no time to pass, but for the round that is under way', async () => {
  const { rounds, begun, end, count } = longRounds(never);
  rounds.wake();
  expect(count()).toBe(0);
  rounds.start();
  rounds.wake();
  expect(count()).toBe(1);
  const second = begun();
  end();
  expect(await second).toBe(2);
  end();
  await new Promise(setImmediate);
  rounds.wake();
  expect(count()).toBe(3);
  end();
  await rounds.stop();
});

it('stopped, they end with the round that is under way, and nobody wakes them', async () => {
  const { rounds, end, count } = longRounds(1);
  rounds.start();
  let ended = false;
  const stopping = rounds.stop().then(() => {
    ended = true;
  });
  expect([rounds.stopped, rounds.running]).toEqual([true, false]);
  await new Promise(setImmediate);
  expect(ended).toBe(false);
  end();
  await stopping;
  rounds.wake();
  expect(count()).toBe(1);
});
