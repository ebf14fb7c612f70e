import type { z } from 'zod';
import type { Slug } from './errors.js';

export const services = ['identity', 'catalog', 'billing', 'notification'] as const;
export type Service = (typeof services)[number];

/** Groups of permissions that a role can grant. */
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
/** Permissions within a group; `access` implies the other three. */
export const permissionActions = ['access', 'read', 'write', 'download'] as const;
export type Permission = `${(typeof permissionGroups)[number]}.${(typeof permissionActions)[number]}`;
/** In place of a permission: every signed-in member may call the operation, whatever its roles. */
export const anyMember = 'any-member';
/** In place of a permission: for tokens of the hosted pages' users, and for nobody else. */
export const anyUser = 'any-user';

type Method = 'GET' | 'POST';
type OperationPath = `/merchant/${string}` | `/system/${string}` | `/portal/${string}`;

/** A permission for an effect of an operation that other operations are guarded by. */
export interface Also {
  permission: Permission;
  /** Input fields that bring the effect, by a value that is not empty; absent: every call has it. */
  by?: readonly string[];
  /** The values of the fields that bring it, where not every one does. */
  is?: readonly string[];
}

/** The most lines of an NDJSON body. */
export const ndjsonLines = 10_000;

/**
 * An operation of the API. HTTP route, NATS subject, validation at both ends, OpenAPI and the permission check
 * derive from this value; its shape is declared nowhere else.
 */
export interface Operation<
  I extends z.ZodType = z.ZodType,
  O extends z.ZodType = z.ZodType,
  P extends OperationPath = OperationPath,
  M extends Method = Method,
> {
  /** The service that owns the operation and alone handles it. */
  service: Service;
  /** Unique within the service: the NATS subject is `cmd.<service>.<name>`. */
  name: string;
  /** GET reads the query, POST the body; lists have both. */
  methods: readonly M[];
  path: P;
  /** Second paths of the same operation, which existing clients use. */
  otherPaths?: readonly OperationPath[];
  /** Summary for the docs, a single sentence. */
  summary: string;
  /** A `write` honours the Idempotency-Key; a `read` ignores it. */
  effect: 'read' | 'write';
  permission: Permission | typeof anyMember | typeof anyUser;
  /** Permissions that guard effects which it can have beside its own: a member needs them too. */
  also?: readonly Also[];
  input: I;
  output: O;
  /** Errors of this operation, in addition to `commonErrors`. */
  errors: readonly Slug[];
  /** Headers of which exactly one must be sent, carrying the caller's identity token; none or two is error 51. */
  oneOfHeaders?: readonly string[];
  /** No credential is needed: the input identifies the caller. */
  anonymous?: true;
  /** The body is NDJSON (application/x-ndjson) and becomes the text of this input field, its only one. At most `ndjsonLines`. */
  ndjson?: string;
  /**
   * The body may be multipart/form-data, whose parts become the input: the file of this field is an object of its name and of
   * its bytes in base64.
   */
  multipart?: string;
  /** Signs a member in: rate-limited by the input's `email` and address; the handler is given the sender. */
  signIn?: true;
  /** Restricted to member tokens; API keys are refused. */
  memberOnly?: true;
  /** Reveals whether a password is right: shares the rate limit of sign-in attempts for the member. */
  checksPassword?: true;
  /** The input holds a secret: the stored request fingerprint is keyed, so that the secret cannot be guessed from it. */
  secretInput?: true;
  /** The output holds a secret: the stored idempotent answer is encrypted and kept for 24 h. */
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
  /** Services ask it of each other; any other is asked by the gateway alone. */
  amongServices?: true;
  /** The services that ask it, where it is no question about copies. */
  askedBy?: readonly Service[];
  input: I;
  output: O;
}

/** Any operation that a service handles: of the API, or for another service. */
export type AnyOperation = Operation | InternalOperation;

export const isInternal = (operation: AnyOperation): operation is InternalOperation => 'internal' in operation;

/** Keeps the path and the methods as literal types: the typed client finds an operation by them. */
export function operation<
  const I extends z.ZodType,
  const O extends z.ZodType,
  const P extends OperationPath,
  const M extends Method,
>(definition: Operation<I, O, P, M>): Operation<I, O, P, M> {
  return definition;
}

export function internal<const I extends z.ZodType, const O extends z.ZodType>(
  definition: Omit<InternalOperation<I, O>, 'internal'>,
): InternalOperation<I, O> {
  return { internal: true, ...definition };
}

/** The validated input that an operation's handler receives. */
export type In<Op extends AnyOperation> = z.output<Op['input']>;
/** The payload (`data` of the envelope) that an operation's handler returns. */
export type Out<Op extends AnyOperation> = z.input<Op['output']>;

/** The message pattern of an operation, which names it among those of all services. */
export const patternOf = (op: Pick<AnyOperation, 'service' | 'name'>) => `${op.service}.${op.name}`;
/** The NATS subject of an operation. */
export const subjectOf = (op: Pick<AnyOperation, 'service' | 'name'>) => `cmd.${patternOf(op)}`;
