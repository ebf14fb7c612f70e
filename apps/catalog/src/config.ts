import { serviceConfig } from '@recur/platform';
import { z } from 'zod';

export const config = serviceConfig
  .extend({
    PORTAL_BASE: z.url().default('http://localhost:3000/portal').describe('where the hosted pages are'),
    RATES_URL: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe('where exchange rates are fetched each hour; unset, they are imported from files'),
  })
  .refine(({ RECUR_ENV, RATES_URL }) => RECUR_ENV !== 'production' || !RATES_URL?.startsWith('http:'), {
    path: ['RATES_URL'],
    message: 'must be https in production',
  });
export type Config = z.output<typeof config>;
