import { z } from 'zod';
import { endpointStatus } from '../codes.js';
import { code, deletion, flag, integer, type Shape, text, time } from '../field.js';

const webhookEndpoint = z.object({
  createTime: time,
  gmtModify: time,
  id: integer,
  merchantId: integer,
  type: integer,
  webhookEvents: z.array(text),
  webhookUrl: text,
  productIds: z.array(integer),
  ordered: flag.describe('It gets the events of each object one after the other'),
  status: code(endpointStatus),
  isDeleted: deletion,
});
/** An endpoint as it is listed: its secret is never part of it. */
export interface WebhookEndpoint extends z.output<typeof webhookEndpoint> {}
export const WebhookEndpoint: Shape<WebhookEndpoint> = webhookEndpoint.meta({
  id: 'WebhookEndpoint',
});

const webhookLog = z.object({
  id: integer,
  merchantId: integer,
  endpointId: integer,
  webhookEvent: text,
  webhookUrl: text,
  requestId: text.describe('The webhook-id: the same at each attempt to deliver an event'),
  body: text.describe('What was sent; cut after 600000 / count characters'),
  response: text.describe('What was answered; cut after 2000 characters'),
  mamo: text.describe('How it ended: delivered, or failed: why, and what comes next'),
  reconsumeCount: integer.describe('How many attempts to deliver the event came before'),
  createTime: time.describe('When the attempt began, in unix seconds'),
  durationMs: integer.describe('How long it took, in milliseconds'),
  nextTryTime: time.describe('When the next one is due, in unix seconds; 0: there is none'),
});
/** One attempt to deliver an event to an endpoint. */
export interface WebhookLog extends z.output<typeof webhookLog> {}
export const WebhookLog: Shape<WebhookLog> = webhookLog.meta({ id: 'WebhookLog' });
