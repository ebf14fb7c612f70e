import { checkUrl, serviceConfig, toggle } from '@recur/platform';
import { mailSettings } from '@recur/platform/mail';
import { z } from 'zod';

const settings = serviceConfig.extend({
  BASE_URL: z
    .url()
    .transform(url => url.replace(/\/+$/, ''))
    .prefault('http://localhost:3000')
    .describe('where clients reach the gateway, also for the webhook URLs of payment gateways'),
  PORTAL_BASE: z.url().default('http://localhost:3000/portal').describe('where the hosted pages are'),
  STRIPE_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe("base URL of Stripe's API, for tests with a stand-in; unset, Stripe itself"),
  DOCUMENT_LINK_DAYS: z.coerce
    .number()
    .int()
    .min(1)
    .max(3_650)
    .default(90)
    .describe('days for which a link to a PDF opens it; each answer and mail has a new one'),
  SMTP_URL: mailSettings.SMTP_URL.describe(
    'the mail server, smtp://user:password@host:587 or smtps://; without one, mails are recorded as failed',
  ),
  MAIL_FROM: mailSettings.MAIL_FROM.default('recur <billing@localhost>').describe('sender of mails'),
  MAIL_FOLDER: mailSettings.MAIL_FOLDER.describe(
    'folder to which mails are written as .eml files instead of being sent',
  ),
  VIES_URL: z
    .url({ protocol: /^https?$/ })
    .transform(url => url.replace(/\/+$/, ''))
    .optional()
    .describe('base URL of the VIES REST API; unset, VAT numbers go by format and checksum alone'),
  VIES_ALLOW_LOOPBACK: toggle(false).describe(
    'allow VIES_URL and logos of merchants on loopback addresses: local stacks and tests only',
  ),
});

export const config = settings
  .refine(({ RECUR_ENV, STRIPE_URL }) => RECUR_ENV !== 'production' || !STRIPE_URL, {
    path: ['STRIPE_URL'],
    message: 'may not be set in production',
  })
  .refine(({ RECUR_ENV, VIES_ALLOW_LOOPBACK }) => RECUR_ENV !== 'production' || !VIES_ALLOW_LOOPBACK, {
    path: ['VIES_ALLOW_LOOPBACK'],
    message: 'may not be true in production',
  })
  .refine(one => !one.VIES_URL || !checkUrl(one.VIES_URL, addressRules(one)), {
    path: ['VIES_URL'],
    message: 'must be a public address, and https in production',
  });
export type Config = z.output<typeof config>;

/** Restrictions on VIES_URL in this deployment. */
export const addressRules = ({
  RECUR_ENV,
  VIES_ALLOW_LOOPBACK,
}: Pick<z.output<typeof settings>, 'RECUR_ENV' | 'VIES_ALLOW_LOOPBACK'>) => ({
  httpsOnly: RECUR_ENV === 'production',
  allowLoopback: VIES_ALLOW_LOOPBACK,
});
