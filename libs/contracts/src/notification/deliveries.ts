import { z } from 'zod';
import { eventName } from '../event-names.js';
import { integer, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';

const webhookLog = z.object({
  id: integer,
  merchantId: integer,
  endpointId: integer,
  webhookEvent: text,
  webhookUrl: text,
  requestId: text.describe('The webhook-id, the same for every attempt to deliver an event'),
  body: text.describe('The request body, truncated to 600000 / count characters'),
  requestHeaders: z.record(z.string(), text).describe('The request headers, without the signature'),
  response: text.describe('The response body, truncated to 2000 characters'),
  httpStatus: integer.describe('The response status; 0: no response'),
  mamo: text.describe('The outcome: delivered, or why it failed and what happens next'),
  reconsumeCount: integer.describe('Number of earlier attempts to deliver the event; starts over when it is resent'),
  createTime: time.describe('Start of the attempt, in unix seconds'),
  durationMs: integer.describe('Duration of the attempt, in milliseconds'),
  nextTryTime: time.describe('Time of the next attempt, in unix seconds; 0: none'),
});
/** An attempt to deliver an event to an endpoint. */
export interface WebhookLog extends z.output<typeof webhookLog> {}
export const WebhookLog: Shape<WebhookLog> = webhookLog.meta({ id: 'WebhookLog' });

export const listEndpointLogs = operation({
  service: 'notification',
  name: 'webhook.endpoint_log_list',
  methods: ['GET', 'POST'],
  path: '/merchant/webhook/endpoint_log_list',
  summary: 'Delivery attempts to a webhook endpoint, newest first',
  effect: 'read',
  permission: 'configuration.read',
  input: input.paged(z.object({ endpointId: input.q.int(), ...input.createdWithin, ...input.paging })),
  output: z.object({
    endpointLogList: z.array(WebhookLog),
    total: integer.describe('Number of matches, counted up to 10000, the end of the last page'),
  }),
  errors: ['endpoint_not_found'],
});

export const resendWebhook = operation({
  service: 'notification',
  name: 'webhook.resend',
  methods: ['POST'],
  path: '/merchant/webhook/resend',
  summary: 'Resend a delivery immediately, with a full set of attempts, whatever its outcome',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({ logId: input.integer.describe('The id of an entry in webhook/endpoint_log_list') }),
  output: z.object({ sendResult: z.boolean().describe('true: it is being sent; the log shows the outcome') }),
  errors: ['log_not_found', 'endpoint_disabled', 'event_not_kept'],
});

export const testEvent = operation({
  service: 'notification',
  name: 'webhook.test_event',
  methods: ['POST'],
  path: '/merchant/webhook/test_event',
  summary: 'Send a sample event to one endpoint, whether or not it subscribes to the event',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({ endpointId: input.integer, event: eventName }),
  output: z.object({ eventId: text.describe('The webhook-id; the body has "test": true and sequence 0') }),
  errors: ['endpoint_not_found', 'endpoint_disabled'],
});
