import type { In, updateMerchant } from '@recur/contracts';
import { document, int, integer, table, text } from '@recur/platform';

export interface Merchant {
  merchantId: number;
  name: string;
  profile: MerchantProfileRow;
  createTime: number;
  version: number;
}

/** The merchant's details under the names of the API; blank ones are left out. */
export type MerchantProfileRow = In<typeof updateMerchant>;

/** An API key without its secret, which is shown once and stored nowhere. */
export interface ApiKey {
  merchantId: number;
  id: number;
  /** SHA-256 of the jti, base64url. */
  jtiHash: string;
  /** The masked key for lists and the operation log. */
  hint: string;
  createTime: number;
  /** Unix seconds of the machine; 0 for not revoked. */
  revokedTime: number;
  version: number;
}

/** The merchant and end of an API key, across merchants: the source of gateways' snapshots. */
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
    profile: { ...document<MerchantProfileRow>(), default: {} },
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
