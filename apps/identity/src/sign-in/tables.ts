import type { KeySource, SignatureAlgorithm } from '@recur/contracts';
import { type Column, flag, int, integer, table, text, texts } from '@recur/platform';
import type { Tries } from './domain/totp-tries.js';

/** An identity provider whose tokens a merchant believes. */
export interface AuthProviderRow {
  merchantId: number;
  id: number;
  name: string;
  issuer: string;
  /** '' for none, which only Auth.js may have. */
  audience: string;
  keySource: KeySource;
  algorithms: SignatureAlgorithm[];
  jwksUrl: string;
  /** PEM. */
  publicKey: string;
  /** Sealed (platform's Keyring); '' for none. */
  sealedSecret: string;
  authJsSalt: string;
  createTime: number;
  /** 0: it is there. */
  deletedTime: number;
  version: number;
}

/** An external identity of a member: from its first link on, this is who it is, whatever its e-mail. */
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
  /** 0: it is linked. Of one that was unlinked this row stays, so that nobody is linked by e-mail a second time. */
  clearedTime: number;
}

/** The two-factor codes of a member. Times are the machine's, since an authenticator app knows no other. */
export interface MemberTotp extends Tries {
  merchantId: number;
  memberId: number;
  /** Sealed; '' while codes are off. */
  sealedKey: string;
  /** Sealed; the key that was asked for and is not confirmed; '' for none. */
  pendingKey: string;
  /** A code of `totpType`: what the pending key is for. */
  pendingType: number;
  /** SHA-256 of each recovery code that is left, base64url. */
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
