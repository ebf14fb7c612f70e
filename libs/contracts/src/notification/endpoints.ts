import { z } from 'zod';
import { endpointStatus, endpointType } from '../codes.js';
import { eventName } from '../event-names.js';
import { code, deletion, Empty, flag, integer, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';
import { AutomationConnection } from './connections.js';

const webhookEndpoint = z.object({
  createTime: time,
  gmtModify: time,
  id: integer,
  merchantId: integer,
  type: code(endpointType),
  webhookEvents: z.array(text),
  webhookUrl: text,
  productIds: z.array(integer),
  ordered: flag.describe('Events of the same object are delivered in order, one at a time'),
  status: code(endpointStatus),
  isDeleted: deletion,
});
/** An endpoint as listed; never includes its secret. */
export interface WebhookEndpoint extends z.output<typeof webhookEndpoint> {}
export const WebhookEndpoint: Shape<WebhookEndpoint> = webhookEndpoint.meta({
  id: 'WebhookEndpoint',
});

const eventList = input.list(eventName);
const productIds = input.list(input.integer);

export const newEndpoint = operation({
  service: 'notification',
  name: 'webhook.new_endpoint',
  methods: ['POST'],
  path: '/merchant/webhook/new_endpoint',
  summary: 'Create a webhook endpoint and return the secret that signs its deliveries',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({
    url: input.httpUrl,
    events: eventList.optional().describe('Absent or []: none'),
    productIds: productIds.optional().describe('Absent or []: all; 0 is the default product'),
    ordered: input.flag
      .optional()
      .describe('true: an event is sent only after the previous event of the same object was delivered or given up'),
  }),
  output: z.object({ endpointId: integer, secret: text }),
  errors: ['too_many_endpoints'],
  secretOutput: true,
});

export const updateEndpoint = operation({
  service: 'notification',
  name: 'webhook.update_endpoint',
  methods: ['POST'],
  path: '/merchant/webhook/update_endpoint',
  summary: "Set an endpoint's URL, events and products; a disabled endpoint is enabled again",
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({
    endpointId: input.integer.describe(
      'A disabled endpoint is enabled with a clean failure record and receives what it missed',
    ),
    url: input.httpUrl,
    events: eventList.optional().describe('Absent or null: unchanged; []: none'),
    productIds: productIds.optional().describe('Absent or null: unchanged; []: all; 0 is the default product'),
    ordered: input.flag.optional().describe('Absent: unchanged; applies to events from then on'),
  }),
  output: Empty,
  errors: ['endpoint_not_found'],
});

export const deleteEndpoint = operation({
  service: 'notification',
  name: 'webhook.delete_endpoint',
  methods: ['POST'],
  path: '/merchant/webhook/delete_endpoint',
  summary: 'Delete a webhook endpoint; deliveries still pending are dropped',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({ endpointId: input.integer }),
  output: Empty,
  errors: ['endpoint_not_found'],
});

export const listEndpoints = operation({
  service: 'notification',
  name: 'webhook.endpoint_list',
  methods: ['GET', 'POST'],
  path: '/merchant/webhook/endpoint_list',
  summary: 'All webhook endpoints and automation connections of the merchant, newest first, without secrets',
  effect: 'read',
  permission: 'configuration.read',
  input: Empty,
  output: z.object({
    endpointList: z.array(WebhookEndpoint),
    automationConnections: z.array(AutomationConnection),
  }),
  errors: [],
});

export const webhookSecret = operation({
  service: 'notification',
  name: 'webhook.get_webhook_secret',
  methods: ['GET'],
  path: '/merchant/webhook/get_webhook_secret',
  summary: "The secret that signs an endpoint's deliveries",
  effect: 'read',
  permission: 'configuration.write',
  input: z.object({ endpointId: input.q.int() }),
  output: z.object({ secret: text }),
  errors: ['endpoint_not_found'],
  secretOutput: true,
});

export const rotateSecret = operation({
  service: 'notification',
  name: 'webhook.rotate_secret',
  methods: ['POST'],
  path: '/merchant/webhook/rotate_secret',
  summary: 'Give an endpoint a new secret; for 24 hours deliveries are also signed with the previous one',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({ endpointId: input.integer }),
  output: z.object({
    secret: text,
    formerUntil: time.describe('Until then deliveries carry two signatures, one per secret'),
  }),
  errors: ['endpoint_not_found'],
  secretOutput: true,
});

export const listWebhookEvents = operation({
  service: 'notification',
  name: 'webhook.event_list',
  methods: ['GET', 'POST'],
  path: '/merchant/webhook/event_list',
  summary: 'Names of the webhook events',
  effect: 'read',
  permission: 'configuration.read',
  input: Empty,
  output: z.object({ eventList: z.array(text) }),
  errors: [],
});
