import { checkUrl, serviceConfig, toggle } from '@recur/platform';
import { z } from 'zod';

const settings = serviceConfig.extend({
  PORTAL_BASE: z.url().default('http://localhost:3000/portal').describe('where the hosted pages are'),
  RATES_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('URL of the exchange rates, fetched every hour; unset, they are imported from files'),
  RATES_ALLOW_LOOPBACK: toggle(false).describe('allow RATES_URL on loopback addresses: local stacks and tests only'),
});

export const config = settings
  .refine(({ RECUR_ENV, RATES_ALLOW_LOOPBACK }) => RECUR_ENV !== 'production' || !RATES_ALLOW_LOOPBACK, {
    path: ['RATES_ALLOW_LOOPBACK'],
    message: 'may not be true in production',
  })
  .refine(one => !one.RATES_URL || !checkUrl(one.RATES_URL, addressRules(one)), {
    path: ['RATES_URL'],
    message: 'must be a public address, and https in production',
  });
export type Config = z.output<typeof config>;

/** Restrictions on RATES_URL in this deployment. */
export const addressRules = ({
  RECUR_ENV,
  RATES_ALLOW_LOOPBACK,
}: Pick<z.output<typeof settings>, 'RECUR_ENV' | 'RATES_ALLOW_LOOPBACK'>) => ({
  httpsOnly: RECUR_ENV === 'production',
  allowLoopback: RATES_ALLOW_LOOPBACK,
});
