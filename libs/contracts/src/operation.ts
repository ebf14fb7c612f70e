import type { z } from 'zod';
import type { Slug } from './errors.js';

export const services = ['identity', 'catalog', 'billing', 'notification'] as const;
export type Service = (typeof services)[number];

/** What a member's role may be granted: a group, and what may be done in it. */
export const permissionGroups = [
  'plan',
  'billable-metric',
  'discount-code',
  'subscription',
  'invoice',
  'transaction',
  'refund',
  'promo-credit',
  'user',
  'admin',
  'my-account',
  'report',
  'configuration',
  'activity-logs',
  'analytics',
] as const;
export const permissionActions = ['access', 'read', 'write', 'download'] as const;
export type Permission = `${(typeof permissionGroups)[number]}.${(typeof permissionActions)[number]}`;

/**
 * One operation of the API. HTTP route, NATS subject, validation at both ends, OpenAPI and the permission check
 * derive from this value; nothing else states its shape.
 */
export interface Operation<I extends z.ZodType = z.ZodType, O extends z.ZodType = z.ZodType> {
  /** The service that owns it: the only one that handles it. */
  service: Service;
  /** Unique within the service: the NATS subject is `cmd.<service>.<name>`. */
  name: string;
  /** GET takes its fields from the query, POST from the body; an operation may have both. */
  methods: readonly ('GET' | 'POST')[];
  path: `/merchant/${string}`;
  /** One sentence for the docs. */
  summary: string;
  /** A `write` honours the Idempotency-Key; a `read` ignores it. */
  effect: 'read' | 'write';
  permission: Permission;
  input: I;
  output: O;
  /** The errors it can answer beside those every operation can (see `commonErrors`). */
  errors: readonly Slug[];
  /** Exactly one of these headers must be sent: it carries the caller's identity token. None or two: 51. */
  oneOfHeaders?: readonly string[];
  /** It needs no credential: who asks is told by what is sent. */
  anonymous?: true;
  /** It signs somebody in: limited by e-mail and address, so its input has an `email`; its handler learns the sender. */
  signIn?: true;
  /** Only a member's own token may call it, not an API key. */
  memberOnly?: true;
  /** It tells a member whether a password is right: limited together with the attempts to sign in as that member. */
  checksPassword?: true;
  /** Its input holds a secret such as a password: what is kept to tell a repeat by cannot be guessed from. */
  secretInput?: true;
  /** Its output holds a secret: the answer kept for a repeat is encrypted, for 24 h. */
  secretOutput?: true;
}

/**
 * A question that services ask each other. It has no HTTP route, no permission and no Idempotency-Key, and is not part
 * of the OpenAPI document; its subject, validation and handler are those of any operation. Asking twice does no harm.
 */
export interface InternalOperation<I extends z.ZodType = z.ZodType, O extends z.ZodType = z.ZodType> {
  internal: true;
  service: Service;
  /** Unique within the service: `platform.<question>`. */
  name: `platform.${string}`;
  input: I;
  output: O;
}

/** What a service handles: an operation of the API, or a question of another service. */
export type AnyOperation = Operation | InternalOperation;

export const isInternal = (operation: AnyOperation): operation is InternalOperation => 'internal' in operation;

export function operation<const I extends z.ZodType, const O extends z.ZodType>(
  definition: Operation<I, O>,
): Operation<I, O> {
  return definition;
}

export function internal<const I extends z.ZodType, const O extends z.ZodType>(
  definition: Omit<InternalOperation<I, O>, 'internal'>,
): InternalOperation<I, O> {
  return { internal: true, ...definition };
}

/** The validated input of an operation, as its handler receives it. */
export type In<Op extends AnyOperation> = z.output<Op['input']>;
/** The payload (`data` of the envelope) that its handler answers. */
export type Out<Op extends AnyOperation> = z.input<Op['output']>;

/** The message pattern of an operation, which names it among those of all services. */
export const patternOf = (op: Pick<AnyOperation, 'service' | 'name'>) => `${op.service}.${op.name}`;
/** The NATS subject of an operation. */
export const subjectOf = (op: Pick<AnyOperation, 'service' | 'name'>) => `cmd.${patternOf(op)}`;
