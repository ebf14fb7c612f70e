import { z } from 'zod';
import { Empty, text } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';
import { MerchantMember } from './members.js';

const email = input.filled.describe('Of the member, in any letter case');
const verificationCode = input.filled.describe('The eight digits of the newest e-mail');
const merchantId = z
  .int()
  .optional()
  .describe('Needed only where members of several merchants have the e-mail, which 51 then lists');

export const requestLoginCode = operation({
  service: 'identity',
  name: 'auth.login_otp',
  methods: ['POST'],
  path: '/merchant/auth/sso/loginOTP',
  summary: 'Send a member a code for signing in by e-mail; answered alike for unknown addresses',
  effect: 'write',
  permission: 'my-account.access',
  anonymous: true,
  signIn: true,
  input: z.object({ email }),
  output: Empty,
  errors: ['mail_not_configured'],
});

export const loginWithCode = operation({
  service: 'identity',
  name: 'auth.login_otp_verify',
  methods: ['POST'],
  path: '/merchant/auth/sso/loginOTPVerify',
  summary: 'Sign a member in with the code of an e-mail; no API key is needed',
  effect: 'write',
  permission: 'my-account.access',
  anonymous: true,
  signIn: true,
  input: z.object({ email, verificationCode, totpCode: input.line.optional(), merchantId }),
  output: z.object({ merchantMember: MerchantMember, token: text }),
  errors: ['totp_required', 'totp_locked'],
  secretOutput: true,
});

export const requestPasswordCode = operation({
  service: 'identity',
  name: 'auth.password_forget_otp',
  methods: ['POST'],
  path: '/merchant/auth/sso/passwordForgetOTP',
  summary: 'Send a member a code for setting a new password by e-mail; answered alike for unknown addresses',
  effect: 'write',
  permission: 'my-account.access',
  anonymous: true,
  signIn: true,
  input: z.object({ email }),
  output: Empty,
  errors: ['mail_not_configured'],
});

export const setPasswordWithCode = operation({
  service: 'identity',
  name: 'auth.password_forget_otp_verify',
  methods: ['POST'],
  path: '/merchant/auth/sso/passwordForgetOTPVerify',
  summary: "Set a member's password with the code of an e-mail; ends all sessions of the member",
  effect: 'write',
  permission: 'my-account.access',
  anonymous: true,
  signIn: true,
  input: z.object({ email, verificationCode, newPassword: input.newPassword, merchantId }),
  output: Empty,
  errors: [],
  secretInput: true,
});
