import { describe, expect, it } from '@jest/globals';
import { Passwords } from '../../src/passwords/passwords.js';

describe('passwords', () => {
  it.each([
    ['members', undefined],
    ['the users of a merchant', 15],
  ])('of %s are hashed two at a time with 64 waiting; more are refused, and the next ones are taken', async (_, of) => {
    const passwords = new Passwords();
    const results = await Promise.allSettled(Array.from({ length: 70 }, () => passwords.hash('x', of)));
    const refused = results.flatMap(result => (result.status === 'rejected' ? [result.reason] : []));
    expect(refused).toHaveLength(4);
    for (const reason of refused) expect(reason).toMatchObject({ slug: 'overloaded' });
    expect(await passwords.hash('x')).toMatch(/^\$argon2id\$/);
  });

  it('of the many users of one merchant hold up neither members nor the users of another', async () => {
    const passwords = new Passwords();
    const done: string[] = [];
    const asked = (whose: string, work: Promise<unknown>) => work.then(() => done.push(whose));
    const many = Array.from({ length: 80 }, () => passwords.hash('x', 15));
    const all = Promise.allSettled(many.map(one => asked('many', one)));
    await Promise.all([asked('member', passwords.check(undefined, 'x')), asked('other', passwords.hash('x', 16))]);
    // the ones running when these two arrived, and one per turn since
    expect(done.filter(whose => whose === 'many').length).toBeLessThan(8);
    await all;
    expect(done.filter(whose => whose === 'many')).toHaveLength(66);
  });

  it('are salted: two hashes of one password differ', async () => {
    const passwords = new Passwords();
    expect(await passwords.hash('x')).not.toBe(await passwords.hash('x'));
  });
});
