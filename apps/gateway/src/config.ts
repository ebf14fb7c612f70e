import { services } from '@recur/contracts';
import { baseConfig, toggle } from '@recur/platform';
import { z } from 'zod';

/** The settings of the gateway. */
export const gatewayConfig = baseConfig.extend({
  PORT: z.coerce.number().int().min(0).max(65535).default(3000).describe('HTTP port: the API, its docs and /livez'),
  BASE_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .transform(url => url.replace(/\/+$/, ''))
    .describe('where clients reach this gateway'),
  CALLER_KEYS: z
    .string()
    .regex(
      /^[a-z]+:[A-Za-z0-9+/]{43}=(,[a-z]+:[A-Za-z0-9+/]{43}=)*$/,
      'must be <service>:<base64 of 32 bytes>, separated by commas',
    )
    .refine(keys => services.every(service => `,${keys}`.includes(`,${service}:`)), 'must have a key for each service')
    .describe('keys that sign the callers of commands: <service>:<its CALLER_KEY>, separated by commas'),
  TOKEN_ISSUER: z.string().min(1).default('recur').describe('the issuer that credentials must name'),
  RATE_PER_SECOND: z.coerce.number().int().min(1).max(1_000_000).default(1_000).describe('requests per credential'),
  RATE_BURST: z.coerce.number().int().min(1).max(1_000_000).default(2_000).describe('requests at once per credential'),
  USER_RATE_PER_SECOND: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .default(20)
    .describe('requests per user of the hosted pages'),
  USER_RATE_BURST: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .default(100)
    .describe('requests at once per user of the hosted pages'),
  SIGN_IN_PER_MINUTE: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .default(10)
    .describe('attempts to sign in a minute, per e-mail and address'),
  SIGN_IN_PER_ADDRESS: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .default(30)
    .describe('attempts to sign in a minute, per address; an IPv6 address counts by its /64'),
  SIGN_IN_PER_EMAIL: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .default(100)
    .describe('attempts to sign in an hour, per e-mail; after a fifth of them each has to wait longer'),
  MAX_CONNECTIONS: z.coerce.number().int().min(1).max(65_535).default(4_096).describe('open connections per replica'),
  MAX_CONNECTIONS_PER_ADDRESS: z.coerce
    .number()
    .int()
    .min(1)
    .max(65_535)
    .default(512)
    .describe('open connections of one address; not limited with TRUST_PROXY, where all come from the proxy'),
  PORTAL_FILES: z
    .string()
    .default('')
    .describe('folder of the hosted pages, served under /portal; blank: apps/portal/dist beside this app'),
  TRUST_PROXY: toggle(false).describe('one proxy stands in front, and its X-Forwarded-For is believed'),
});

export type GatewayConfig = z.output<typeof gatewayConfig>;
