import { z } from 'zod';
import { text } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';
import { MerchantMember } from './members.js';

const identityTokenHeaders = ['X-Auth-JS-Token', 'X-Auth-Token', 'X-OAuth-Token'];
const signedIn = z.object({ merchantMember: MerchantMember, token: text });

export const oauthLogin = operation({
  service: 'identity',
  name: 'auth.oauth_login',
  methods: ['POST'],
  path: '/merchant/auth/sso/oauth/login',
  summary: 'Sign a member in with an identity token of an external OAuth provider',
  effect: 'write',
  permission: 'my-account.access',
  oneOfHeaders: identityTokenHeaders,
  signIn: true,
  input: z.object({ email: input.filled, totpCode: input.line.optional() }),
  output: signedIn,
  errors: ['totp_required', 'totp_locked'],
  secretOutput: true,
});

export const oauthSetup = operation({
  service: 'identity',
  name: 'auth.oauth_setup',
  methods: ['POST'],
  path: '/merchant/auth/sso/oauth/setup',
  summary: 'Complete the setup of an invited member: link the external identity and, if given, set a password',
  effect: 'write',
  permission: 'my-account.access',
  oneOfHeaders: identityTokenHeaders,
  signIn: true,
  input: z.object({ email: input.filled, setupToken: input.filled, newPassword: input.newPassword.optional() }),
  output: signedIn,
  errors: ['oauth_account_taken'],
  secretOutput: true,
});

export const passwordLogin = operation({
  service: 'identity',
  name: 'auth.login',
  methods: ['POST'],
  path: '/merchant/auth/sso/login',
  summary: 'Sign a member in with e-mail and password; no API key is needed',
  effect: 'write',
  permission: 'my-account.access',
  anonymous: true,
  signIn: true,
  input: z.object({
    email: input.filled,
    // not `filled`: a password of spaces is valid
    password: input.rule(input.line, 'may not be empty', value => value !== ''),
    provider: input.line.optional().describe('No effect: identities are linked by token only'),
    providerId: input.line.optional().describe('No effect, like provider'),
    totpCode: input.line.optional(),
    merchantId: z
      .int()
      .optional()
      .describe('Needed only where the e-mail and password fit members of several merchants, which 51 then lists'),
  }),
  output: signedIn,
  errors: ['totp_required', 'totp_locked'],
  secretOutput: true,
});

export const passwordSetup = operation({
  service: 'identity',
  name: 'auth.password_setup',
  methods: ['POST'],
  path: '/merchant/auth/sso/passwordSetup',
  summary: 'Complete the setup of an invited member with a password; no API key is needed',
  effect: 'write',
  permission: 'my-account.access',
  anonymous: true,
  signIn: true,
  input: z.object({
    email: input.filled,
    setupToken: input.filled,
    newPassword: input.newPassword,
    merchantId: z.int().optional().describe('Needed only where more than eight merchants have the e-mail'),
  }),
  output: signedIn,
  errors: [],
  secretOutput: true,
});

export const updateOauth = operation({
  service: 'identity',
  name: 'member.update_oauth',
  methods: ['POST'],
  path: '/merchant/member/update_oauth',
  summary: 'Link the identity of a token to your own account',
  effect: 'write',
  permission: 'my-account.write',
  memberOnly: true,
  oneOfHeaders: identityTokenHeaders,
  input: z.object({ email: input.filled.describe('The e-mail of the token') }),
  output: z.object({ merchantMember: MerchantMember }),
  errors: ['oauth_account_taken'],
});

export const clearOauth = operation({
  service: 'identity',
  name: 'member.clear_oauth',
  methods: ['POST'],
  path: '/merchant/member/clear_oauth',
  summary: 'Unlink an external identity from your own account',
  effect: 'write',
  permission: 'my-account.write',
  memberOnly: true,
  input: z.object({ provider: input.filled, providerId: input.filled }),
  output: z.object({ merchantMember: MerchantMember }),
  errors: ['oauth_account_not_found', 'last_way_in'],
});
