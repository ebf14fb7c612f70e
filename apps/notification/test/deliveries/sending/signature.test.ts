import { createHmac, randomBytes } from 'node:crypto';
import { describe, expect, it, jest } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { sign } from '../../../src/deliveries/sending/signature.js';
import { newSecret } from '../../../src/endpoints/secrets.js';

const secret = newSecret(randomBytes);
const nowSeconds = () => Math.floor(Date.now() / 1000);
const body = JSON.stringify({ type: 'invoice.paid', data: { invoiceId: 'in_1', note: 'Grüße ☂' } });
const accepts = (of: string, text: string | Buffer, headers: object) => {
  try {
    new Webhook(of).verify(text, { ...headers });
    return true;
  } catch {
    return false;
  }
};

describe('a webhook signature', () => {
  it('is accepted by the public library', () => {
    expect(new Webhook(secret).verify(body, { ...sign([secret], 'ev_1', nowSeconds(), body) })).toEqual(
      JSON.parse(body),
    );
  });

  it('is the same for a text and for its bytes', () => {
    const at = nowSeconds();
    expect(sign([secret], 'ev_1', at, Buffer.from(body))).toEqual(sign([secret], 'ev_1', at, body));
  });

  it('is HMAC-SHA256 over id, timestamp and body, with the bytes behind whsec_ as its key', () => {
    const known = newSecret(size => Buffer.alloc(size, 7));
    expect(known).toBe('whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=');
    const expected = createHmac('sha256', Buffer.alloc(32, 7)).update('ev_1.1700000000.{}').digest('base64');
    expect(sign([known], 'ev_1', 1_700_000_000, '{}')).toEqual({
      'webhook-id': 'ev_1',
      'webhook-timestamp': '1700000000',
      'webhook-signature': `v1,${expected}`,
    });
  });

  it('refuses every flipped byte of body, id, timestamp and signature', () => {
    const headers = sign([secret], 'ev_1', nowSeconds(), body);
    const bytes = Buffer.from(body);
    expect(accepts(secret, bytes, headers)).toBe(true);
    for (let i = 0; i < bytes.length; i++) {
      const flipped = Buffer.from(bytes);
      flipped[i] = (bytes[i] ?? 0) ^ 1;
      expect(accepts(secret, flipped, headers)).toBe(false);
    }
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const) {
      const value = headers[name];
      for (let i = 0; i < value.length; i++) {
        const flipped = value.slice(0, i) + String.fromCharCode(value.charCodeAt(i) ^ 1) + value.slice(i + 1);
        expect(accepts(secret, bytes, { ...headers, [name]: flipped })).toBe(false);
      }
    }
  });

  it('is refused when it is more than five minutes old or ahead', () => {
    const at = nowSeconds();
    const clock = jest.spyOn(Date, 'now').mockReturnValue(at * 1000);
    const acceptedAt = (seconds: number) => accepts(secret, body, sign([secret], 'ev_1', at + seconds, body));
    expect([-301, -300, 300, 301].map(acceptedAt)).toEqual([false, true, true, false]);
    clock.mockRestore();
  });

  it('is accepted with the old and with the new secret during a rotation, and with no other', () => {
    const next = newSecret(randomBytes);
    const headers = sign([next, secret], 'ev_1', nowSeconds(), body);
    expect(headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);
    expect(accepts(next, body, headers)).toBe(true);
    expect(accepts(secret, body, headers)).toBe(true);
    expect(accepts(newSecret(randomBytes), body, headers)).toBe(false);
    expect(accepts(secret, body, sign([next], 'ev_1', nowSeconds(), body))).toBe(false);
  });

  it('is not made from what would be ambiguous or unsigned, and does not tell the secret', () => {
    expect(() => sign([secret], 'ev.1', 1, body)).toThrow('dot');
    expect(() => sign([secret], 'ev_1', 1.5, body)).toThrow('whole seconds');
    expect(() => sign([], 'ev_1', 1, body)).toThrow('needs a secret');
    expect(() => sign(['whsec_c2hvcnQ='], 'ev_1', 1, body)).toThrow(/^a webhook secret is malformed$/);
    expect(() => sign([secret.slice(6)], 'ev_1', 1, body)).toThrow(/^a webhook secret is malformed$/);
  });
});
