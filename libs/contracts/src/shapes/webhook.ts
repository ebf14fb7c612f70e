import { z } from 'zod';
import { connectionStatus, endpointStatus, endpointType, replayStatus } from '../codes.js';
import { code, deletion, flag, integer, type Shape, text, time } from '../field.js';

const webhookEndpoint = z.object({
  createTime: time,
  gmtModify: time,
  id: integer,
  merchantId: integer,
  type: code(endpointType),
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
  requestHeaders: z.record(z.string(), text).describe('What it was sent with, but for its signature'),
  response: text.describe('What was answered; cut after 2000 characters'),
  httpStatus: integer.describe('The status of the answer; 0: there was none'),
  mamo: text.describe('How it ended: delivered, or failed: why, and what comes next'),
  reconsumeCount: integer.describe(
    'How many attempts to deliver the event came before; it begins anew where it is sent again',
  ),
  createTime: time.describe('When the attempt began, in unix seconds'),
  durationMs: integer.describe('How long it took, in milliseconds'),
  nextTryTime: time.describe('When the next one is due, in unix seconds; 0: there is none'),
});
/** One attempt to deliver an event to an endpoint. */
export interface WebhookLog extends z.output<typeof webhookLog> {}
export const WebhookLog: Shape<WebhookLog> = webhookLog.meta({ id: 'WebhookLog' });

const webhookReplay = z.object({
  replayId: text,
  merchantId: integer,
  endpointId: integer,
  status: code(replayStatus),
  events: z.array(text).describe('The names asked for; []: all'),
  deliveredToo: flag,
  total: integer.describe('How many deliveries it is to send again'),
  scheduled: integer.describe('How many of them it has scheduled so far'),
  createTime: time,
  endTime: time,
});
/** Deliveries of a time range that are sent to one endpoint again, a bounded number at a time. */
export interface WebhookReplay extends z.output<typeof webhookReplay> {}
export const WebhookReplay: Shape<WebhookReplay> = webhookReplay.meta({ id: 'WebhookReplay' });

const automationConnection = z.object({
  connectionId: text.describe("The platform's client_id"),
  status: code(connectionStatus),
  returnUrl: text,
  createTime: time,
  expireTime: time.describe('Until then it is to be allowed and taken up; 0: it stands until it is disconnected'),
});
/** An automation platform that may manage webhook endpoints of its own, or has been asked to. */
export interface AutomationConnection extends z.output<typeof automationConnection> {}
export const AutomationConnection: Shape<AutomationConnection> = automationConnection.meta({
  id: 'AutomationConnection',
});
