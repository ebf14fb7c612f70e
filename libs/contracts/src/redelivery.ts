import { z } from 'zod';
import { eventName } from './event-names.js';
import { emittedName } from './events.js';
import { Empty, flag, integer, text } from './field.js';
import * as input from './input.js';
import { operation } from './operation.js';
import { WebhookReplay } from './shapes/webhook.js';

const unixSeconds = z.int().min(0).max(10_000_000_000);

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

export const replayWebhooks = operation({
  service: 'notification',
  name: 'webhook.replay',
  methods: ['POST'],
  path: '/merchant/webhook/replay',
  summary: 'Send again what failed of the events of a time range, or only count it',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({
    endpointId: input.integer,
    createTimeStart: unixSeconds.describe('Of events that were made from then on'),
    createTimeEnd: unixSeconds.optional().describe('Up to then; absent: up to now'),
    events: input.list(eventName).nullish().describe('Absent or []: all'),
    deliveredToo: flag.default(false).describe('true: what was delivered too, not only what failed'),
    dryRun: flag.default(false).describe('true: nothing is sent; the answer has the count, and a blank replayId'),
  }),
  output: z.object({ replayId: text, count: integer }),
  errors: ['endpoint_not_found', 'endpoint_disabled', 'replay_running'],
});

export const replayDetail = operation({
  service: 'notification',
  name: 'webhook.replay_detail',
  methods: ['GET'],
  path: '/merchant/webhook/replay_detail',
  summary: 'How far a replay has come',
  effect: 'read',
  permission: 'configuration.read',
  input: z.object({ replayId: input.filled }),
  output: z.object({ replay: WebhookReplay }),
  errors: ['replay_not_found'],
});

export const cancelReplay = operation({
  service: 'notification',
  name: 'webhook.replay_cancel',
  methods: ['POST'],
  path: '/merchant/webhook/replay_cancel',
  summary: 'Stop a replay, if it runs: what it has scheduled is still sent, and nothing more',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({ replayId: input.filled }),
  output: Empty,
  errors: ['replay_not_found'],
});
