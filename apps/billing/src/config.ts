import { serviceConfig } from '@recur/platform';
import { z } from 'zod';

export const config = serviceConfig.extend({
  BASE_URL: z
    .url()
    .transform(url => url.replace(/\/+$/, ''))
    .prefault('http://localhost:3000')
    .describe('where clients reach the gateway'),
  PORTAL_BASE: z.url().default('http://localhost:3000/portal').describe('where the hosted pages are'),
  SMTP_URL: z
    .url({ protocol: /^smtps?$/ })
    .optional()
    .describe('the mail server, smtp://user:password@host:587 or smtps://; without one, mails are recorded as failed'),
  MAIL_FROM: z.string().min(3).default('recur <billing@localhost>').describe('sender of mails'),
  MAIL_FOLDER: z.string().optional().describe('folder to which mails are written as .eml files instead of being sent'),
});
export type Config = z.output<typeof config>;
