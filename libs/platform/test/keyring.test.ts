import { describe, expect, it } from '@jest/globals';
import { Keyring } from '../src/runtime/secrets.js';

const key = (id: string, byte: number) => `${id}:${Buffer.alloc(32, byte).toString('base64')}`;

describe('a signature of the keyring', () => {
  const ring = new Keyring(key('k1', 7));
  const signature = ring.sign('three entries');

  it('holds for exactly its text', () => {
    expect(signature).toMatch(/^s1\.k1\.[\w-]{43}$/);
    expect(ring.hasSigned('three entries', signature)).toBe(true);
    for (const text of ['', 'three entries ', 'Three entries']) expect(ring.hasSigned(text, signature)).toBe(false);
  });

  it('holds after the key has been rotated, and no more when it has gone', () => {
    expect(new Keyring(`${key('k2', 8)},${key('k1', 7)}`).hasSigned('three entries', signature)).toBe(true);
    expect(new Keyring(`${key('k2', 8)},${key('k1', 7)}`).sign('x')).toMatch(/^s1\.k2\./);
    expect(new Keyring(key('k2', 8)).hasSigned('three entries', signature)).toBe(false);
    expect(new Keyring(key('k1', 8)).hasSigned('three entries', signature)).toBe(false);
  });

  it.each(['', 's1', 's1.k1', 's1.k1.', 's1.k1.AAAA', 's2.k1.x', '..', 's1.__proto__.x'])(
    '%j holds for nothing',
    other => {
      expect(ring.hasSigned('three entries', other)).toBe(false);
      expect(ring.hasSigned('', other)).toBe(false);
    },
  );

  it('does not hold with any of its characters changed', () => {
    for (let at = 0; at < signature.length; at++) {
      // the last character has bits that are not of the MAC
      const other = signature[at] === 'A' ? 'Q' : 'A';
      const changed = signature.slice(0, at) + other + signature.slice(at + 1);
      expect([at, ring.hasSigned('three entries', changed)]).toEqual([at, false]);
    }
  });

  it('is made with a key that encrypts nothing', () => {
    const sealed = ring.seal('three entries', 'row');
    expect(sealed).toMatch(/^v1\./);
    expect(ring.hasSigned('three entries', sealed)).toBe(false);
  });
});
