import type { In, updateMerchant } from '@recur/contracts';
import { document, int, integer, table, text } from '@recur/platform';

export interface Merchant {
  merchantId: number;
  name: string;
  profile: MerchantProfile;
  createTime: number;
  version: number;
}

/** What a merchant tells of itself, under the names of the answer; what is blank is left out. */
export type MerchantProfile = In<typeof updateMerchant>;

/** An API key as it is remembered: the key itself was shown once and is kept nowhere. */
export interface ApiKey {
  merchantId: number;
  id: number;
  /** SHA-256 of the jti, base64url. */
  jtiHash: string;
  /** How the key is shown in lists and in the operation log. */
  hint: string;
  createTime: number;
  /** 0: it is not revoked. */
  revokedTime: number;
  version: number;
}

/** Where an API key belongs, and whether it still holds: gateways ask for all of them, across merchants. */
export interface ApiKeyLookup {
  jtiHash: string;
  merchantId: number;
  revokedTime: number;
}

export const merchants = table<Merchant>('merchants', {
  key: ['merchantId'],
  columns: {
    merchantId: integer(),
    name: text(),
    profile: { ...document<MerchantProfile>(), default: {} },
    createTime: integer(),
    version: int(),
  },
});

export const apiKeys = table<ApiKey>('api_keys', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    jtiHash: text(),
    hint: text(),
    createTime: integer(),
    revokedTime: integer(),
    version: int(),
  },
  indices: { api_keys_jti: { on: ['merchantId', 'jtiHash'], unique: true } },
});

export const apiKeyLookups = table<ApiKeyLookup>('api_key_lookups', {
  key: ['jtiHash'],
  columns: { jtiHash: text(), merchantId: integer(), revokedTime: integer() },
  indices: { api_key_lookups_revoked: { on: ['revokedTime'], where: 'revoked_time > 0' } },
  infrastructure: true,
});
