import { z } from 'zod';
import { endpointStatus } from '../codes.js';
import { code, integer, type Shape, text, time } from '../field.js';

const webhookEndpoint = z.object({
  createTime: time,
  gmtModify: time,
  id: integer,
  merchantId: integer,
  type: integer,
  webhookEvents: z.array(text),
  webhookUrl: text,
  productIds: z.array(integer),
  status: code(endpointStatus),
});
/** An endpoint as it is listed: its secret is never part of it. */
export interface WebhookEndpoint extends z.output<typeof webhookEndpoint> {}
export const WebhookEndpoint: Shape<WebhookEndpoint> = webhookEndpoint.meta({
  id: 'WebhookEndpoint',
});
