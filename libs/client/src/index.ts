export type { Attach, Attached } from './attach.js';
export { type Calls, createCalls, type Options, orThrow, RecurError } from './calls.js';
export { type Client, createClient } from './client.js';
export { objectOf } from './objects.js';
export { newIdempotencyKey } from './random.js';
export {
  memoryOrder,
  type Receipt,
  type ReceiverOptions,
  type WebhookFollowers,
  type WebhookHandlers,
  type WebhookOrder,
  type WebhookPlace,
  webhookReceiver,
} from './receiver.js';
export type { Envelope, Failure, FailureType, Result } from './result.js';
export type { Input, Output, Path } from './table.js';
export type { Check, Checked, Track, Tracked } from './usage.js';
export type { Person, UserName } from './user.js';
export { type UnknownEvent, type Verified, verifyWebhook, type WebhookEvent, type WebhookHeaders } from './webhook.js';
