import { describe, expect, it } from '@jest/globals';
import { Passwords } from '../src/passwords.js';

describe('passwords', () => {
  it('are hashed two at a time with 64 waiting; more are refused, and the next ones are taken again', async () => {
    const passwords = new Passwords();
    const results = await Promise.allSettled(Array.from({ length: 70 }, () => passwords.hash('x')));
    const refused = results.flatMap(result => (result.status === 'rejected' ? [result.reason] : []));
    expect(refused).toHaveLength(4);
    for (const reason of refused) expect(reason).toMatchObject({ slug: 'overloaded' });
    expect(await passwords.hash('x')).toMatch(/^\$argon2id\$/);
  });

  it('are salted: two hashes of one password differ', async () => {
    const passwords = new Passwords();
    expect(await passwords.hash('x')).not.toBe(await passwords.hash('x'));
  });
});
