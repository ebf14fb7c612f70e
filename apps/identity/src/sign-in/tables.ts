import { everything, type KeySource, type SignatureAlgorithm } from '@recur/contracts';
import { type Column, flag, int, integer, table, text, texts } from '@recur/platform';
import type { Tries } from './domain/totp-tries.js';

/** An identity provider that a merchant trusts. */
export interface AuthProviderRow {
  merchantId: number;
  id: number;
  name: string;
  issuer: string;
  /** '' for none, allowed for Auth.js only. */
  audience: string;
  keySource: KeySource;
  algorithms: SignatureAlgorithm[];
  jwksUrl: string;
  /** PEM. */
  publicKey: string;
  /** Encrypted by the platform's Keyring; '' for none. */
  sealedSecret: string;
  authJsSalt: string;
  /** The grant of whoever last set the key; the provider identifies no member that may do more. */
  granted: string;
  createTime: number;
  /** 0 while live. */
  deletedTime: number;
  version: number;
}

/** An external identity linked to a member, by issuer and subject; its e-mail no longer matters once linked. */
export interface OauthAccountRow {
  merchantId: number;
  memberId: number;
  issuer: string;
  subject: string;
  provider: string;
  email: string;
  emailVerified: boolean;
  name: string;
  image: string;
  linkTime: number;
  /** 0 while linked. Unlinked rows stay, so that no member is linked by e-mail a second time. */
  clearedTime: number;
}

/** Two-factor state of a member. Times are the machine's, like those of authenticator apps. */
export interface MemberTotp extends Tries {
  merchantId: number;
  memberId: number;
  /** Encrypted; '' while two-factor is off. */
  sealedKey: string;
  /** Encrypted; the requested, unconfirmed key; '' for none. */
  pendingKey: string;
  /** The `totpType` of the pending key. */
  pendingType: number;
  /** SHA-256 of each unused recovery code, base64url. */
  recoveryHashes: string[];
}

export const authProviders = table<AuthProviderRow>('auth_providers', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    name: text(),
    issuer: text(),
    audience: text(),
    keySource: text(),
    algorithms: texts() as Column<SignatureAlgorithm[]>,
    jwksUrl: text(),
    publicKey: text(),
    sealedSecret: text(),
    authJsSalt: text(),
    granted: { ...text(), default: everything },
    createTime: integer(),
    deletedTime: integer(),
    version: int(),
  },
  indices: {
    auth_providers_issuer: { on: ['merchantId', 'issuer'], unique: true, where: 'deleted_time = 0' },
    auth_providers_one_authjs: {
      on: ['merchantId'],
      unique: true,
      where: `key_source = 'authJs' and deleted_time = 0`,
    },
  },
});

export const oauthAccounts = table<OauthAccountRow>('oauth_accounts', {
  key: ['merchantId', 'memberId', 'issuer', 'subject'],
  columns: {
    merchantId: integer(),
    memberId: integer(),
    issuer: text(),
    subject: text(),
    provider: text(),
    email: text(),
    emailVerified: flag(),
    name: text(),
    image: text(),
    linkTime: integer(),
    clearedTime: integer(),
  },
  indices: {
    oauth_accounts_identity: { on: ['merchantId', 'issuer', 'subject'], unique: true, where: 'cleared_time = 0' },
  },
});

export const memberTotps = table<MemberTotp>('member_totps', {
  key: ['merchantId', 'memberId'],
  columns: {
    merchantId: integer(),
    memberId: integer(),
    sealedKey: text(),
    pendingKey: text(),
    pendingType: int(),
    recoveryHashes: texts(),
    lastStep: integer(),
    failures: int(),
    lockedUntil: integer(),
  },
});
