import { describe, expect, it } from '@jest/globals';
import { verifyWebhook } from '../src/index.js';
import { secret, signed as sign } from './signed.js';

const other = `whsec_${Buffer.from('the next secret').toString('base64')}`;
const body = JSON.stringify({ type: 'user.created', timestamp: '', merchantId: 7, sequence: 1, data: { id: 5 } });
const nowMs = 1_800_000_000_000;

const signed = (by: string, { id = 'ev_1', seconds = nowMs / 1000, text = body } = {}) => sign(by, id, seconds, text);

describe('a delivery', () => {
  it('that is signed has its event, whatever form the headers have', async () => {
    const event = { id: 'ev_1', type: 'user.created', data: { id: 5 }, sequence: 1 };
    const headers = signed(secret);
    for (const form of [headers, new Headers(headers), { 'Webhook-Id': 'ev_1', ...headers }])
      expect(await verifyWebhook({ body, headers: form, secrets: [secret], nowMs })).toMatchObject({ ok: true, event });
  });

  it('with a signature per secret during a rotation is accepted with either secret', async () => {
    const headers = signed(secret);
    headers['webhook-signature'] += ` ${signed(other)['webhook-signature']}`;
    for (const secrets of [[secret], [other], ['whsec_AAAA', other]])
      expect(await verifyWebhook({ body, headers, secrets, nowMs })).toMatchObject({ ok: true });
  });

  it.each([
    ['headers_missing', { headers: {} }],
    ['signature_wrong', { headers: signed(other) }],
    ['signature_wrong', { body: `${body} ` }],
    ['signature_wrong', { headers: { ...signed(secret), 'webhook-id': 'ev_2' } }],
    ['signature_wrong', { headers: { ...signed(secret), 'webhook-signature': 'v1,%% v2,AAAA v1,' } }],
    ['not_current', { headers: signed(secret, { seconds: nowMs / 1000 - 301 }) }],
    ['not_current', { headers: { ...signed(secret), 'webhook-timestamp': 'now' } }],
    ['body_unreadable', { body: '{', headers: signed(secret, { text: '{' }) }],
    ['body_unreadable', { body: 'null', headers: signed(secret, { text: 'null' }) }],
    [
      'body_unreadable',
      { body: '{"type":"user.created"}', headers: signed(secret, { text: '{"type":"user.created"}' }) },
    ],
  ])('is refused: %s', async (reason, change) => {
    const delivery = { body, headers: signed(secret), secrets: [secret], nowMs, ...change };
    expect(await verifyWebhook(delivery)).toEqual({ ok: false, reason });
  });

  it('is not checked with something that is no secret', async () => {
    const delivery = { body, headers: signed(secret), secrets: ['whsec_%'], nowMs };
    await expect(verifyWebhook(delivery)).rejects.toThrow('whsec_');
  });
});
