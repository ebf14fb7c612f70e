import { z } from 'zod';
import { type Slug } from '../errors.js';
import { eventName } from '../event-names.js';
import * as input from '../input.js';

// Operations of an automation platform's access token, and OAuth requests as the gateway passes them to notification:
// both travel as `cmd.notification.platform.automation`. The HTTP forms are OAuth's own (RFC 6749, 7009, 7636).

/** Fields of a query or form. */
const form = z.record(z.string(), z.string().max(4_000));
const byForm = <S extends string>(step: S) => z.object({ step: z.literal(step), fields: form });
const byToken = <S extends string, I extends z.ZodType>(step: S, asked: I) =>
  z.object({ step: z.literal(step), token: z.string().max(200), input: asked });

/** Inputs of the hook operations; hooks are the endpoints of the token's connection. */
export const hookInputs = {
  list: z.object({}),
  subscribe: z.object({ url: input.httpUrl, events: input.list(eventName).min(1) }),
  unsubscribe: z.object({ endpointId: input.q.int() }),
  samples: z.object({ event: eventName }),
} as const;

export const AutomationRequest = z.discriminatedUnion('step', [
  byForm('authorize'),
  byForm('decide'),
  byForm('token'),
  byForm('revoke'),
  byToken('list', hookInputs.list),
  byToken('subscribe', hookInputs.subscribe),
  byToken('unsubscribe', hookInputs.unsubscribe),
  byToken('samples', hookInputs.samples),
]);
export type AutomationRequest = z.output<typeof AutomationRequest>;

/** An answer that the gateway turns into a page, a redirect, OAuth's JSON or the envelope. */
export type AutomationAnswer =
  | { kind: 'consent'; merchantId: number; returnUrl: string; fields: Record<string, string> }
  | { kind: 'redirect'; location: string }
  | { kind: 'refusal'; reason: 'stale' | 'elsewhere' }
  | { kind: 'oauth'; status: number; body: Record<string, unknown> }
  | { kind: 'data'; merchantId: number; data: object }
  | { kind: 'rejected'; slug: Slug; message?: string; issues: { path: string; message: string }[] };
