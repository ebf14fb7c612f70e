import { z } from 'zod';

const keyring = z
  .string()
  .regex(
    /^[\w-]+:[A-Za-z0-9+/]{43}=(,[\w-]+:[A-Za-z0-9+/]{43}=)*$/,
    'must be <id>:<base64 of 32 bytes>, several separated by commas, the current one first',
  )
  .refine(spec => {
    const ids = spec.split(',').map(entry => entry.slice(0, entry.indexOf(':')));
    return new Set(ids).size === ids.length;
  }, 'has two keys of one id: what is encrypted names its key by the id alone');

/** The URL of each server that a database URL names: `postgres://user:password@host:port,host:port/database`. */
export function serversIn(url: string): string[] {
  const [, head = '', hosts = '', tail = ''] = /^(postgres(?:ql)?:\/\/(?:[^@/]*@)?)([^/?]*)(.*)$/s.exec(url) ?? [];
  return hosts.split(',').map(host => `${head}${host}${tail}`);
}

/** The driver takes any text, and finds a host in it. Several servers are one URL each. */
const database = z
  .string()
  .refine(
    text => serversIn(text).every(server => URL.canParse(server) && /^postgres(ql)?:\/\/(.*@)?[^@:/?]+/.test(server)),
    'must be postgres://<user>:<password>@<host>:<port>/<database>, with what is not a letter or digit percent-encoded; ' +
      'several hosts, of which one is the primary, are separated by commas',
  );

/** A switch in the environment: true or false, in words. */
export const toggle = (byDefault: boolean) =>
  z
    .enum(['true', 'false'])
    .default(byDefault ? 'true' : 'false')
    .transform(word => word === 'true');

/** The settings that every app has. An app's own schema extends this one. */
export const baseConfig = z.object({
  RECUR_ENV: z.enum(['production', 'sandbox']).describe('kind of deployment; a key of one is refused by the other'),
  NATS_URL: z.string().min(1).describe('nats://user:password@host:port, several separated by commas'),
  HOST: z.string().default('0.0.0.0').describe('address to listen on'),
  OPS_PORT: z.coerce
    .number()
    .int()
    .min(0)
    .max(65535)
    .default(3001)
    .describe('HTTP port for operators: /livez, /readyz and /metrics; never published'),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('what is logged: this level and those after it'),
  DEADLINE_FACTOR: z.coerce
    .number()
    .min(1)
    .max(10)
    .default(1)
    .describe('factor on deadlines such as the 8 s of a request, for tests on busy machines; refused in production'),
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/ })
    .transform(url => url.replace(/\/+$/, ''))
    .optional()
    .describe('OTLP collector over HTTP, as http://host:4318; unset, nothing is traced'),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(0.05)
    .describe('share of the requests that are traced, unless their client has decided'),
});

/** The settings of an app with a database. */
export const serviceConfig = baseConfig.extend({
  DATABASE_URL: database.describe(
    "postgres:// as the service's <service>_app role; <host>:<port>,<host>:<port> where a standby can become the primary",
  ),
  DATABASE_OWNER_URL: database.optional().describe('postgres:// as <service>_owner; only the migrate step needs it'),
  NATS_MIGRATOR_URL: z
    .string()
    .min(1)
    .optional()
    .describe('as NATS_URL, as the user migrator; only the migrate step needs it'),
  CALLER_KEY: z
    .string()
    .regex(/^[A-Za-z0-9+/]{43}=(,[A-Za-z0-9+/]{43}=)*$/, 'must be base64 of 32 bytes, several separated by commas')
    .describe('key that signs the callers of its commands: base64 of 32 bytes, and older ones after commas'),
  UNSIGNED_CALLERS: toggle(false).describe(
    'take commands whose caller is not signed: only while apps are replaced that do not sign yet',
  ),
  DATABASE_POOL: z.coerce.number().int().min(4).max(100).default(12).describe('connections per replica'),
  SECRET_KEYS: keyring.describe('keys that encrypt secrets at rest'),
  STORE_FAST: toggle(true).describe('batch the reads and commits of different commands; false: one at a time'),
  COMMANDS_AT_ONCE: z.coerce.number().int().min(1).default(64).describe('commands run at once per replica'),
  COMMANDS_WAITING: z.coerce.number().int().min(0).default(1024).describe('commands that may wait for their turn'),
  EVENT_ACK_SECONDS: z.coerce
    .number()
    .int()
    .min(1)
    .max(600)
    .default(30)
    .describe(
      'after this time an event whose consumer was killed goes to another one; for consumers that the migrate step makes',
    ),
  STREAM_REPLICAS: z.coerce
    .number()
    .int()
    .min(1)
    .max(5)
    .default(1)
    .describe(
      'servers of a NATS cluster on which the migrate step keeps a stream that it makes: 3 in a cluster of three',
    ),
  CRASH_AT: z.string().optional().describe('name of a crash point, for tests; refused in production'),
});

export type BaseConfig = z.output<typeof baseConfig>;
export type ServiceConfig = z.output<typeof serviceConfig>;

/** Reads an app's settings from the environment; prints every problem and exits 78 (EX_CONFIG) if there is one. */
export function parseConfig<S extends z.ZodType>(schema: S, env: NodeJS.ProcessEnv = process.env): z.output<S> {
  const parsed = schema.safeParse(env);
  const problems = parsed.success
    ? [...emptyNumbers(parsed.data as object, env), ...impatient(env)]
    : parsed.error.issues.map(issue => problemOf(issue, env));
  if (parsed.success && problems.length === 0) return parsed.data;
  process.stderr.write('The configuration is not usable:\n');
  for (const problem of problems) process.stderr.write(`  ${problem}\n`);
  return process.exit(78);
}

function problemOf({ code, path, message }: z.core.$ZodIssue, env: NodeJS.ProcessEnv): string {
  const missing = code === 'invalid_type' && env[String(path[0])] === undefined;
  return `${path.join('.')}: ${missing ? 'is missing' : message}`;
}

/** The problem of a production deployment whose deadlines are stretched: clients and probes rely on them. */
const impatient = ({ RECUR_ENV, DEADLINE_FACTOR = '' }: NodeJS.ProcessEnv) =>
  RECUR_ENV === 'production' && DEADLINE_FACTOR !== '' ? ['DEADLINE_FACTOR: is for tests, not for production'] : [];

/** Names of numeric settings that are empty: an empty text would be read as 0. */
const emptyNumbers = (settings: object, env: NodeJS.ProcessEnv) =>
  Object.entries(settings).flatMap(([name, value]) =>
    typeof value === 'number' && env[name]?.trim() === ''
      ? [`${name}: is empty: set it to a number, or not at all`]
      : [],
  );
