import { z } from 'zod';
import { replayStatus } from '../codes.js';
import { eventName } from '../event-names.js';
import { code, Empty, flag, integer, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';

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

const unixSeconds = z.int().min(0).max(10_000_000_000);

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
    events: input.list(eventName).optional().describe('Absent or []: all'),
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
