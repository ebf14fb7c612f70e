import { describe, expect, it } from '@jest/globals';
import { addressLine, type Line, memberLine, usersLine } from '../../src/passwords/lines.js';
import { Passwords } from '../../src/passwords/passwords.js';

describe('passwords', () => {
  it.each<[string, Line]>([
    ['one address', addressLine('192.0.2.1')],
    ['the users of a merchant', usersLine(15)],
  ])(
    'of %s are hashed two at a time with 64 waiting; more are refused, and the next ones are taken',
    async (_, line) => {
      const passwords = new Passwords();
      const results = await Promise.allSettled(Array.from({ length: 70 }, () => passwords.hash('x', line)));
      const refused = results.flatMap(result => (result.status === 'rejected' ? [result.reason] : []));
      expect(refused).toHaveLength(4);
      for (const reason of refused) expect(reason).toMatchObject({ slug: 'overloaded' });
      expect(await passwords.hash('x', line)).toMatch(/^\$argon2id\$/);
    },
  );

  it('of the many users of one merchant hold up neither members nor the users of another', async () => {
    const passwords = new Passwords();
    const done: string[] = [];
    const asked = (whose: string, work: Promise<unknown>) => work.then(() => done.push(whose));
    const many = Array.from({ length: 80 }, () => passwords.hash('x', usersLine(15)));
    const all = Promise.allSettled(many.map(one => asked('many', one)));
    await Promise.all([
      asked('member', passwords.check(undefined, 'x', addressLine('192.0.2.1'))),
      asked('other', passwords.hash('x', usersLine(16))),
    ]);
    // the ones running when these two arrived, and one per turn since
    expect(done.filter(whose => whose === 'many').length).toBeLessThan(8);
    await all;
    expect(done.filter(whose => whose === 'many')).toHaveLength(66);
  });

  it('of one address that floods hold up no other address', async () => {
    const passwords = new Passwords();
    const right = await passwords.hash('correct horse', memberLine(1, 1));
    let flooded = 0;
    const flood = Promise.allSettled(
      Array.from({ length: 100 }, () =>
        passwords.check(undefined, 'guess', addressLine('2001:db8::1')).then(() => flooded++),
      ),
    );
    for (let at = 0; at < 5; at++) {
      expect(await passwords.check(right, 'correct horse', addressLine('2001:db8:0:1::1'))).toBe(true);
    }
    // a few per turn, although a thread that is held up may let several pass
    expect(flooded).toBeLessThan(25);
    await flood;
    expect(flooded).toBe(66);
  });

  it('of many addresses wait in a bounded number; the longest line gives way to a newcomer', async () => {
    const passwords = new Passwords();
    const refused: string[] = [];
    const ask = (ip: string) => passwords.check(undefined, 'x', addressLine(ip)).catch(() => refused.push(ip));
    const all = [
      ...Array.from({ length: 66 }, () => ask('192.0.2.1')),
      ...Array.from({ length: 32 }, () => ask('192.0.2.2')),
    ];
    expect(refused).toEqual([]);
    const [first, second] = [ask('192.0.2.3'), ask('192.0.2.1')];
    await Promise.all([...all, first, second]);
    // one waiter was displaced by the newcomer, and the flooding address itself displaces nobody
    expect(refused).toEqual(['192.0.2.1', '192.0.2.1']);
  });

  it('are salted: two hashes of one password differ', async () => {
    const passwords = new Passwords();
    const line = memberLine(1, 1);
    expect(await passwords.hash('x', line)).not.toBe(await passwords.hash('x', line));
  });
});

describe('the line of an address', () => {
  it.each([
    ['192.0.2.1', 'address 192.0.2.1'],
    ['::ffff:192.0.2.1', 'address 192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', 'address 2001:db8:1:2'],
    ['2001:0DB8:0001:0002::', 'address 2001:db8:1:2'],
    ['2001:db8::1', 'address 2001:db8:0:0'],
    ['fe80::1%eth0', 'address fe80:0:0:0'],
    ['::1', 'address 0:0:0:0'],
    ['', 'address '],
  ])('%s', (ip, line) => {
    expect(addressLine(ip)).toBe(line);
  });
});
