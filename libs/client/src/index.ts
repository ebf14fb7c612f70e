export { type Client, createClient, type Options, orThrow, RecurError } from './client.js';
export { newIdempotencyKey } from './random.js';
export type { Envelope, Failure, FailureType, Result } from './result.js';
export type { Input, Output, Path } from './table.js';
export { type Verified, verifyWebhook, type WebhookEvent, type WebhookHeaders } from './webhook.js';
