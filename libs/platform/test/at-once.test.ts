import { expect, it } from '@jest/globals';
import { unserializable } from '../src/testing/index.js';

/** A counter whose two commands add to it: one reads and writes in one turn of the event loop, one in two. */
function counterOf(add: (count: number) => Promise<number> | number) {
  const counter = { count: 0 };
  const command = (by: number) => async () => {
    const sum = add(counter.count + by);
    counter.count = typeof sum === 'number' ? sum : await sum;
    return { ok: true };
  };
  return Promise.resolve({ commands: [command(1), command(2)] as const, state: async () => counter });
}

it('finds an update that another one overwrites', async () => {
  expect(await unserializable(() => counterOf(sum => sum))).toEqual([]);
  const lost = await unserializable(() => counterOf(async sum => sum));
  expect(lost).toEqual(['[["done","done"],{"count":2}]']);
});

it('takes no race for a proof whose first command is refused', async () => {
  const refused = async () => ({ ok: false, slug: 'not_found' });
  const race = async () => ({ commands: [refused, refused] as const, state: async () => ({}) });
  await expect(unserializable(race)).rejects.toThrow('refused: {"ok":false,"slug":"not_found"}');
});
