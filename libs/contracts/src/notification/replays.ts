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
  events: z.array(text).describe('The event names requested; []: all'),
  deliveredToo: flag,
  total: integer.describe('Number of deliveries to resend'),
  scheduled: integer.describe('Number of them scheduled so far'),
  createTime: time,
  endTime: time,
});
/** A replay: deliveries of a time range resent to one endpoint, a bounded number at a time. */
export interface WebhookReplay extends z.output<typeof webhookReplay> {}
export const WebhookReplay: Shape<WebhookReplay> = webhookReplay.meta({ id: 'WebhookReplay' });

const unixSeconds = z.int().min(0).max(10_000_000_000);

export const replayWebhooks = operation({
  service: 'notification',
  name: 'webhook.replay',
  methods: ['POST'],
  path: '/merchant/webhook/replay',
  summary: 'Resend the failed deliveries of a time range, or only count them',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({
    endpointId: input.integer,
    createTimeStart: unixSeconds.describe('Events created at or after this time'),
    createTimeEnd: unixSeconds.optional().describe('Events created at or before this time; absent: now'),
    events: input.list(eventName).optional().describe('Absent or []: all'),
    deliveredToo: flag.default(false).describe('true: also resend successful deliveries'),
    dryRun: flag.default(false).describe('true: send nothing, only return the count, with a blank replayId'),
  }),
  output: z.object({ replayId: text, count: integer }),
  errors: ['endpoint_not_found', 'endpoint_disabled', 'replay_running'],
});

export const replayDetail = operation({
  service: 'notification',
  name: 'webhook.replay_detail',
  methods: ['GET'],
  path: '/merchant/webhook/replay_detail',
  summary: 'Progress of a replay',
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
  summary: 'Stop a running replay; deliveries already scheduled are still sent',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({ replayId: input.filled }),
  output: Empty,
  errors: ['replay_not_found'],
});
