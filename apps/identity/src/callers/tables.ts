import { document, flag, int, integer, table, text } from '@recur/platform';
import type { JWK } from 'jose';

/** A key pair that signs tokens of all merchants. */
export interface SigningKey {
  /** The public key's thumbprint (RFC 7638). */
  kid: string;
  publicKey: JWK;
  /** Sealed JWK (platform's Keyring). */
  sealedPrivateKey: string;
  /** The one that signs; the others still verify. */
  isCurrent: boolean;
  createTime: number;
}

/** What gateways follow, as one row: its lock puts all changes in order, its version counts them. */
export interface CallersState {
  id: string;
  version: number;
}

export const signingKeys = table<SigningKey>('signing_keys', {
  key: ['kid'],
  columns: {
    kid: text(),
    publicKey: document<JWK>(),
    sealedPrivateKey: text(),
    isCurrent: flag(),
    createTime: integer(),
  },
  indices: { signing_keys_one_current: { on: ['isCurrent'], unique: true, where: 'is_current' } },
  infrastructure: true,
});

export const callers = table<CallersState>('callers', {
  key: ['id'],
  columns: { id: text(), version: int() },
  checks: { callers_one_row: `id = 'callers'` },
  infrastructure: true,
});
