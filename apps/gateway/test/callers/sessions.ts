import { createHash } from 'node:crypto';
import { grantOf, type MemberAccess, type Permission } from '@recur/contracts';
import type { SigningKey } from '../stand.js';

const nowSeconds = () => Math.floor(Date.now() / 1000);

export const grant = (...permissions: Permission[]) =>
  grantOf(
    permissions.map(permission => {
      const [group = '', action = ''] = permission.split('.');
      return { group, permissions: [action] };
    }),
  );

/** A member of merchant 15 who is signed in with one session, `s<id>`. */
export const signedIn = (id: number, granted: string, more: Partial<MemberAccess> = {}): MemberAccess => ({
  id,
  merchantId: 15,
  email: `member-${id}@example.com`,
  grant: granted,
  sessions: [{ sid: `s${id}`, expireTime: nowSeconds() + 86_400 }],
  ...more,
});

export const permOf = (granted: string) => createHash('sha256').update(granted).digest('base64url');

/** The claims of the token that identity signs for a member's first session; `callers` is what gateways know then. */
export const claimsOf = ({ id, merchantId, grant: granted, sessions }: MemberAccess, callers = 0) => ({
  sub: String(id),
  merchant: merchantId,
  sid: sessions[0]?.sid,
  perm: permOf(granted),
  callers,
  jti: undefined,
  exp: nowSeconds() + 86_400,
});

export const tokenOf = (signer: SigningKey, member: MemberAccess, more: Record<string, unknown> = {}) =>
  signer.sign({ ...claimsOf(member), ...more }, { typ: 'member+jwt' });

/** The claims of the token that identity signs for user 3 of merchant 15, after the exchange of a client session. */
export const userClaims = () => ({
  sub: '3',
  merchant: 15,
  sid: 'exchanged',
  email: 'user-3@example.com',
  jti: undefined,
  exp: nowSeconds() + 900,
});

export const userToken = (signer: SigningKey, more: Record<string, unknown> = {}) =>
  signer.sign({ ...userClaims(), ...more }, { typ: 'user+jwt' });
