import { createHmac } from 'node:crypto';

export const secret = `whsec_${Buffer.from('a secret of an endpoint').toString('base64')}`;

/** The headers of a delivery, signed as recur signs it. */
export function signed(by: string, id: string, seconds: number, body: string) {
  const key = Buffer.from(by.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': `v1,${signature}` };
}

/** A delivery of an event, sent now. */
export function delivery(event: { id: string; type: string; sequence: number; data: object; test?: true }) {
  const { id, ...rest } = event;
  const body = JSON.stringify({ timestamp: '2026-01-01T00:00:00.000Z', merchantId: 7, ...rest });
  return { body, headers: signed(secret, id, Math.floor(Date.now() / 1000), body) };
}
