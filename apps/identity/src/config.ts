import { serviceConfig } from '@recur/platform';
import { z } from 'zod';

export const config = serviceConfig.extend({
  TOKEN_ISSUER: z.string().min(1).default('recur').describe('the iss of the tokens that this deployment signs'),
});
export type Config = z.output<typeof config>;
