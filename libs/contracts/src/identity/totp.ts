import { z } from 'zod';
import { totpType } from '../codes.js';
import { Empty, text } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';
import { MerchantMember } from './members.js';

const { off: _, ...kinds } = totpType;
const write = {
  service: 'identity',
  methods: ['POST'],
  effect: 'write',
} as const;
const mine = { ...write, permission: 'my-account.write', memberOnly: true } as const;

export const totpKey = operation({
  ...mine,
  name: 'member.get_totp_key',
  path: '/merchant/member/get_totp_key',
  summary: 'Create a key for your authenticator app; it takes effect once confirmed with a code',
  input: z.object({ totpType: input.code(kinds).default(kinds.general) }),
  output: z.object({
    totpType: input.code(kinds),
    totpKey: text.describe('Base32, for typing into an app'),
    totpUrl: text.describe('otpauth://, to show as a QR code'),
  }),
  errors: ['totp_on'],
  secretOutput: true,
});

export const confirmTotpKey = operation({
  ...mine,
  name: 'member.confirm_totp_key',
  path: '/merchant/member/confirm_totp_key',
  summary: 'Turn on two-factor authentication with a first code of the key requested last',
  input: z.object({ totpCode: input.filled }),
  output: z.object({
    merchantMember: MerchantMember,
    recoveryCodes: z.array(text).describe('Each replaces a code for one sign-in; shown only once'),
  }),
  errors: ['totp_on', 'totp_not_asked', 'totp_required', 'totp_locked'],
  secretOutput: true,
});

export const resetTotp = operation({
  ...mine,
  name: 'member.reset_totp',
  path: '/merchant/member/reset_totp',
  summary: 'Turn off your own two-factor authentication with a code or a recovery code',
  input: z.object({ totpCode: input.filled }),
  output: z.object({ merchantMember: MerchantMember }),
  errors: ['totp_required', 'totp_locked'],
});

export const clearMemberTotp = operation({
  ...write,
  name: 'member.clear_member_totp',
  path: '/merchant/member/clear_member_totp',
  summary: 'Turn off two-factor authentication for another member who has lost their device',
  permission: 'admin.write',
  input: z.object({ memberId: z.int() }),
  output: Empty,
  errors: ['member_not_found', 'totp_protected'],
});

export const deleteTotpDevice = operation({
  ...mine,
  name: 'member.delete_totp_device',
  path: '/merchant/member/delete_totp_device',
  summary: 'Sign out one of your own devices',
  input: z.object({ deviceIdentity: input.filled.describe('The identity of an entry of deviceList') }),
  output: z.object({ merchantMember: MerchantMember }),
  errors: ['device_not_found'],
});
