import { createHmac, hkdfSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Keyring } from '../src/runtime/secrets.js';

const key = (id: string, byte: number) => `${id}:${Buffer.alloc(32, byte).toString('base64')}`;

describe('a signature of the keyring', () => {
  const ring = new Keyring(key('k1', 7));
  const signature = ring.sign('log', 'three entries');

  it('holds for exactly its text', () => {
    expect(signature).toMatch(/^s2\.k1\.[\w-]{43}$/);
    expect(ring.hasSigned('log', 'three entries', signature)).toBe(true);
    for (const text of ['', 'three entries ', 'Three entries'])
      expect(ring.hasSigned('log', text, signature)).toBe(false);
  });

  it('holds after the key has been rotated, and no more when it has gone', () => {
    expect(new Keyring(`${key('k2', 8)},${key('k1', 7)}`).hasSigned('log', 'three entries', signature)).toBe(true);
    expect(new Keyring(`${key('k2', 8)},${key('k1', 7)}`).sign('log', 'x')).toMatch(/^s2\.k2\./);
    expect(new Keyring(key('k2', 8)).hasSigned('log', 'three entries', signature)).toBe(false);
    expect(new Keyring(key('k1', 8)).hasSigned('log', 'three entries', signature)).toBe(false);
  });

  it.each(['', 's2', 's2.k1', 's2.k1.', 's2.k1.AAAA', 's3.k1.x', '..', 's2.__proto__.x', 's1.k1.AAAA'])(
    '%j holds for nothing',
    other => {
      expect(ring.hasSigned('log', 'three entries', other)).toBe(false);
      expect(ring.hasSigned('log', '', other)).toBe(false);
    },
  );

  it('does not hold with any of its characters changed', () => {
    for (let at = 0; at < signature.length; at++) {
      // the last character has bits that are not of the MAC
      const other = signature[at] === 'A' ? 'Q' : 'A';
      const changed = signature.slice(0, at) + other + signature.slice(at + 1);
      expect([at, ring.hasSigned('log', 'three entries', changed)]).toEqual([at, false]);
    }
  });

  it('holds for one purpose alone, however the texts are cut', () => {
    expect(ring.hasSigned('links', 'three entries', signature)).toBe(false);
    expect(ring.hasSigned('', 'three entries', signature)).toBe(false);
    expect(ring.hasSigned('log\nthree', 'entries', ring.sign('log', 'three\nentries'))).toBe(false);
    expect(ring.sign('links', 'three entries').slice(6)).not.toBe(signature.slice(6));
  });

  it('of before purposes had keys holds still, and is made no more', () => {
    const old = Buffer.from(hkdfSync('sha256', Buffer.alloc(32, 7), '', 'recur signature v1', 32));
    const mac = createHmac('sha256', old).update('three entries').digest('base64url');
    expect(ring.hasSigned('log', 'three entries', `s1.k1.${mac}`)).toBe(true);
    expect(ring.hasSigned('log', 'three entries', `s2.k1.${mac}`)).toBe(false);
  });

  it('is made with a key that encrypts nothing', () => {
    const sealed = ring.seal('three entries', 'row');
    expect(sealed).toMatch(/^v1\./);
    expect(ring.hasSigned('log', 'three entries', sealed)).toBe(false);
  });
});
