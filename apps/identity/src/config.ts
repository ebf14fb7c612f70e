import { serviceConfig } from '@recur/platform';
import { z } from 'zod';

export const config = serviceConfig.extend({
  BASE_URL: z.url().default('http://localhost:3000').describe('where clients reach the gateway'),
  PORTAL_BASE: z.url().default('http://localhost:3000/portal').describe('where the hosted pages are'),
  TOKEN_ISSUER: z.string().min(1).default('recur').describe('the iss of the tokens that this deployment signs'),
});
export type Config = z.output<typeof config>;
