import { z } from 'zod';
import { webhookEventNames } from './event-names.js';
import { Empty, integer, text } from './field.js';
import * as input from './input.js';
import { operation } from './operation.js';

const eventName = z.enum(webhookEventNames, { error: 'is not the name of an event: webhook/event_list has them' });
const eventList = input.list(eventName);
const productIds = input.list(input.integer);

export const newEndpoint = operation({
  service: 'notification',
  name: 'webhook.new_endpoint',
  methods: ['POST'],
  path: '/merchant/webhook/new_endpoint',
  summary: 'Create a webhook endpoint; the secret that signs its deliveries is in the answer',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({
    url: input.httpUrl,
    events: eventList.nullish().describe('Absent or []: none'),
    productIds: productIds.nullish().describe('Absent or []: all; 0 is the default product'),
  }),
  output: z.object({ endpointId: integer, secret: text }),
  errors: [],
  secretOutput: true,
});

export const updateEndpoint = operation({
  service: 'notification',
  name: 'webhook.update_endpoint',
  methods: ['POST'],
  path: '/merchant/webhook/update_endpoint',
  summary: "Set an endpoint's URL, its events and its products",
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({
    endpointId: input.integer,
    url: input.httpUrl,
    events: eventList.nullish().describe('Absent: unchanged; []: none'),
    productIds: productIds.nullish().describe('Absent or null: unchanged; []: all; 0 is the default product'),
  }),
  output: Empty,
  errors: ['endpoint_not_found'],
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

export const listWebhookEvents = operation({
  service: 'notification',
  name: 'webhook.event_list',
  methods: ['GET'],
  path: '/merchant/webhook/event_list',
  summary: 'The names of the webhook events that are emitted',
  effect: 'read',
  permission: 'configuration.read',
  input: Empty,
  output: z.object({ eventList: z.array(text) }),
  errors: [],
});

export const automationOauthUrl = operation({
  service: 'notification',
  name: 'webhook.automation_oauth_url',
  methods: ['POST'],
  path: '/merchant/webhook/webhook_automation_oauth_url',
  summary: 'The URL at which an automation platform is allowed to manage its own webhook endpoints',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({ returnUrl: input.optionalUrl.optional() }),
  output: z.object({ oauthUrl: text }),
  errors: [],
});
