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
  summary: 'A new key for your authenticator app; it counts once a code of it is confirmed',
  input: z.object({ totpType: input.code(kinds).default(kinds.general) }),
  output: z.object({
    totpType: input.code(kinds),
    totpKey: text.describe('Base32, for an app that takes no picture'),
    totpUrl: text.describe('otpauth://, to show as a QR code'),
  }),
  errors: ['totp_on'],
  secretOutput: true,
});

export const confirmTotpKey = operation({
  ...mine,
  name: 'member.confirm_totp_key',
  path: '/merchant/member/confirm_totp_key',
  summary: 'Turn two-factor codes on with the first code of the key that was asked for last',
  input: z.object({ totpCode: input.filled }),
  output: z.object({
    merchantMember: MerchantMember,
    recoveryCodes: z.array(text).describe('Each signs in once in place of a code; shown this once'),
  }),
  errors: ['totp_on', 'totp_not_asked', 'totp_required', 'totp_locked'],
  secretOutput: true,
});

export const resetTotp = operation({
  ...mine,
  name: 'member.reset_totp',
  path: '/merchant/member/reset_totp',
  summary: 'Turn your own two-factor codes off with a code or a recovery code',
  input: z.object({ totpCode: input.filled }),
  output: z.object({ merchantMember: MerchantMember }),
  errors: ['totp_required', 'totp_locked'],
});

export const clearMemberTotp = operation({
  ...write,
  name: 'member.clear_member_totp',
  path: '/merchant/member/clear_member_totp',
  summary: 'Turn the two-factor codes of another member off, who has lost its device',
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
  input: z.object({ deviceIdentity: input.filled.describe('Of deviceList') }),
  output: z.object({ merchantMember: MerchantMember }),
  errors: ['device_not_found'],
});
