import { serviceConfig, toggle } from '@recur/platform';
import { z } from 'zod';
import { isRedisUrl } from './deliveries/sending/redis.js';

const baseUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .transform(url => url.replace(/\/+$/, ''));

export const config = serviceConfig
  .extend({
    REDIS_URL: z
      .string()
      .refine(
        url => url === '' || isRedisUrl(url),
        'must be redis://:<password>@<host>:<port>, redis+sentinel://:<password>@<host>:<port>,<host>:<port>/<name>, or empty',
      )
      .describe(
        'redis://:password@host:port, or redis+sentinel://:password@host:port,host:port/name, for sharing deliveries among replicas; empty: none, sweeps do it',
      ),
    WEBHOOK_LEASE_SECONDS: z.coerce
      .number()
      .int()
      .min(1)
      .max(600)
      .default(45)
      .describe('how long a worker may take over a delivery before another one repeats it'),
    WEBHOOK_KEPT_DAYS: z.coerce
      .number()
      .int()
      .min(7)
      .max(3_650)
      .default(30)
      .describe('how long events, deliveries and the log of attempts are kept at least; they go a week at a time'),
    BASE_URL: baseUrl
      .prefault('http://localhost:3000')
      .describe('where clients reach the gateway, for automation URLs'),
    WEBHOOK_ALLOW_LOOPBACK: toggle(false).describe('let webhooks reach this machine: local stacks and tests only'),
  })
  .refine(({ RECUR_ENV, WEBHOOK_ALLOW_LOOPBACK }) => RECUR_ENV !== 'production' || !WEBHOOK_ALLOW_LOOPBACK, {
    path: ['WEBHOOK_ALLOW_LOOPBACK'],
    message: 'may not be true in production',
  })
  .refine(({ RECUR_ENV, WEBHOOK_LEASE_SECONDS }) => RECUR_ENV !== 'production' || WEBHOOK_LEASE_SECONDS >= 35, {
    path: ['WEBHOOK_LEASE_SECONDS'],
    message: 'must be 35 or more in production: a request takes up to 15 seconds, and recording it may have to wait',
  });
export type Config = z.output<typeof config>;

/** Which URLs a webhook may go to in this deployment. */
export const addressRules = ({ RECUR_ENV, WEBHOOK_ALLOW_LOOPBACK }: Config) => ({
  httpsOnly: RECUR_ENV === 'production',
  allowLoopback: WEBHOOK_ALLOW_LOOPBACK,
});
