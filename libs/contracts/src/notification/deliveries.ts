import { z } from 'zod';
import { emittedName } from '../events.js';
import { integer, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';

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

export const listEndpointLogs = operation({
  service: 'notification',
  name: 'webhook.endpoint_log_list',
  methods: ['GET', 'POST'],
  path: '/merchant/webhook/endpoint_log_list',
  summary: 'The attempts to deliver to a webhook endpoint, newest first',
  effect: 'read',
  permission: 'configuration.read',
  input: input.paged(z.object({ endpointId: input.q.int(), ...input.createdWithin, ...input.paging })),
  output: z.object({
    endpointLogList: z.array(WebhookLog),
    total: integer.describe('Counted up to 10000: no page lies beyond it'),
  }),
  errors: ['endpoint_not_found'],
});

export const resendWebhook = operation({
  service: 'notification',
  name: 'webhook.resend',
  methods: ['POST'],
  path: '/merchant/webhook/resend',
  summary: 'Send a delivery again, at once and with all its attempts, whatever came of it before',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({ logId: input.integer.describe('The id of an entry of webhook/endpoint_log_list') }),
  output: z.object({ sendResult: z.boolean().describe('true: it is under way; what comes of it is in the log') }),
  errors: ['log_not_found', 'endpoint_disabled', 'event_not_kept'],
});

export const testEvent = operation({
  service: 'notification',
  name: 'webhook.test_event',
  methods: ['POST'],
  path: '/merchant/webhook/test_event',
  summary: 'Send an example of an event to one endpoint, whether it subscribed to it or not',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({ endpointId: input.integer, event: emittedName }),
  output: z.object({ eventId: text.describe('Its webhook-id; the body has "test": true and sequence 0') }),
  errors: ['endpoint_not_found', 'endpoint_disabled'],
});
