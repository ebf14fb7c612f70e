import { expect, it } from '@jest/globals';
import { FairQueue } from '../src/work/fair-queue.js';

/** A queue whose tasks end when they are told to; `started` has their names in the order of their starts. */
function held(limits: { running: number; perLine: number; waiting: number }) {
  const queue = new FairQueue(limits);
  const started: string[] = [];
  const ends: (() => void)[] = [];
  const refused: string[] = [];
  /** Asks for a task; the first letter of its name is its line. */
  const ask = (name: string): Promise<unknown> => {
    const run = () => {
      started.push(name);
      return new Promise<void>(resolve => ends.push(resolve));
    };
    return queue.run(name.charAt(0), run).catch(() => refused.push(name));
  };
  /** Lets every task end, one after the other. */
  const finish = async (all: readonly Promise<unknown>[]) => {
    let isDone = false;
    const done = Promise.all(all).then(() => {
      isDone = true;
    });
    while (!isDone) {
      ends.shift()?.();
      await new Promise(resolve => setImmediate(resolve));
    }
    await done;
  };
  return { queue, started, refused, ask, finish };
}

it('lines take turns, however long they are', async () => {
  const { started, ask, finish } = held({ running: 1, perLine: 10, waiting: 20 });
  await finish(['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2'].map(ask));
  expect(started).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
});

it('a newcomer displaces the last of the longest line, and nobody where its own would be as long', async () => {
  const { started, refused, ask, finish } = held({ running: 1, perLine: 3, waiting: 4 });
  await finish(['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'c1', 'd1', 'e1'].map(ask));
  expect([...refused].sort()).toEqual(['a3', 'a4', 'a5', 'e1']);
  expect(started).toEqual(['a1', 'a2', 'b1', 'c1', 'd1']);
});

it('one that is closed refuses who waits and who comes, and lets those go on that run', async () => {
  const { queue, started, refused, ask, finish } = held({ running: 2, perLine: 9, waiting: 9 });
  const all = ['a1', 'a2', 'a3', 'b1'].map(ask);
  queue.close();
  await finish([...all, ask('c1')]);
  expect(started).toEqual(['a1', 'a2']);
  expect([...refused].sort()).toEqual(['a3', 'b1', 'c1']);
  await expect(queue.run('a', async () => 1)).rejects.toMatchObject({ slug: 'overloaded' });
});
