import { document, flag, int, integer, table, text } from '@recur/platform';
import type { JWK } from 'jose';

/** A key pair that signs the tokens of all merchants. */
export interface SigningKey {
  /** Thumbprint of the public key (RFC 7638). */
  kid: string;
  publicKey: JWK;
  /** JWK, encrypted by the platform's Keyring. */
  sealedPrivateKey: string;
  /** True for the pair that signs; the others only verify. */
  isCurrent: boolean;
  createTime: number;
}

/** The one row behind `callers.changed`: its lock orders all changes, its version counts them. */
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
