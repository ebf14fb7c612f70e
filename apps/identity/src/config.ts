import { newAuthProvider, validate } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { checkUrl, serviceConfig, toggle } from '@recur/platform';
import { mailSettings } from '@recur/platform/mail';
import { z } from 'zod';
import { deploymentProvider, type Provider } from './sign-in/provider-keys.js';

const settings = serviceConfig.extend({
  // above the number that may wait for a password hash, so that other commands still run
  COMMANDS_AT_ONCE: serviceConfig.shape.COMMANDS_AT_ONCE.unwrap()
    .default(128)
    .describe('commands run at once per replica of identity'),
  BASE_URL: z.url().default('http://localhost:3000').describe('where clients reach the gateway'),
  PORTAL_BASE: z.url().default('http://localhost:3000/portal').describe('where the hosted pages are'),
  TOKEN_ISSUER: z.string().min(1).default('recur').describe('the iss of the tokens that this deployment signs'),
  OAUTH_PROVIDER: z
    .string()
    .optional()
    .transform((text, context): Provider | undefined => {
      const problems = text ? problemsIn(text) : [];
      for (const message of problems) context.addIssue({ code: 'custom', message });
      return text && problems.length === 0
        ? deploymentProvider(newAuthProvider.input.parse(JSON.parse(text)))
        : undefined;
    })
    .describe('JSON of an identity provider that every merchant trusts beside its own; see docs/sign-in.md'),
  SMTP_URL: mailSettings.SMTP_URL.describe(
    'the mail server for sign-in codes, smtp://user:password@host:587 or smtps://; without one, none are sent',
  ),
  MAIL_FROM: mailSettings.MAIL_FROM.default('recur <sign-in@localhost>').describe('sender of mails with codes'),
  MAIL_FOLDER: mailSettings.MAIL_FOLDER.describe(
    'folder to which mails are written as .eml files instead of being sent',
  ),
  OAUTH_ALLOW_LOOPBACK: toggle(false).describe('allow JWKS URLs on this machine: local stacks and tests only'),
});

/** Problems of the deployment's provider settings; never quotes the text, which may hold a secret. */
function problemsIn(text: string): string[] {
  try {
    const checked = validate(newAuthProvider.input, JSON.parse(text));
    if (!checked.ok) return checked.issues.map(({ message }) => message);
    deploymentProvider(checked.value);
    return [];
  } catch (error) {
    return error instanceof Rejected ? error.issues.map(({ message }) => message) : ['must be a JSON object'];
  }
}

export const config = settings
  .refine(({ RECUR_ENV, OAUTH_ALLOW_LOOPBACK }) => RECUR_ENV !== 'production' || !OAUTH_ALLOW_LOOPBACK, {
    path: ['OAUTH_ALLOW_LOOPBACK'],
    message: 'may not be true in production',
  })
  .refine(one => !one.OAUTH_PROVIDER?.jwksUrl || !checkUrl(one.OAUTH_PROVIDER.jwksUrl, addressRules(one)), {
    path: ['OAUTH_PROVIDER'],
    message: 'jwksUrl must not resolve to a private address; in production it must be https',
  });
export type Config = z.output<typeof config>;

/** Rules for the URLs from which providers' keys are fetched in this deployment. */
export const addressRules = ({
  RECUR_ENV,
  OAUTH_ALLOW_LOOPBACK,
}: Pick<z.output<typeof settings>, 'RECUR_ENV' | 'OAUTH_ALLOW_LOOPBACK'>) => ({
  httpsOnly: RECUR_ENV === 'production',
  allowLoopback: OAUTH_ALLOW_LOOPBACK,
});
