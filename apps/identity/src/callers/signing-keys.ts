import { Injectable } from '@nestjs/common';
import { Keyring, type Reader, type Tx } from '@recur/platform';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';
import { lockCallers, publishCallers } from './callers-changed.js';
import { type SigningKey, signingKeys } from './tables.js';

/** A key pair as it signs: key id and private half. */
export interface Signer {
  kid: string;
  privateKey: JWK;
}

/** The key pairs that sign this deployment's tokens; private halves are encrypted at rest. */
@Injectable()
export class SigningKeys {
  constructor(private readonly keyring: Keyring) {}

  /** The current key pair. Created on first use, and published to gateways in the same transaction. */
  async signer(tx: Tx): Promise<Signer> {
    const current = await tx.find(signingKeys, { isCurrent: true });
    if (current) return this.opened(current);
    await lockCallers(tx);
    // the previous holder of the lock may have created it
    const made = await tx.find(signingKeys, { isCurrent: true });
    if (made) return this.opened(made);
    const { key, privateKey } = await this.newKey(tx.now);
    tx.save(signingKeys, key);
    await publishCallers(tx, { keys: [...(await publicKeys(tx)), key.publicKey] });
    return { kid: key.kid, privateKey };
  }

  /** The current key pair, for a caller whose token it has signed. */
  async current(reader: Reader): Promise<Signer> {
    return this.opened(await reader.get(signingKeys, { isCurrent: true }, 'credential_invalid'));
  }

  private async newKey(now: number): Promise<{ key: SigningKey; privateKey: JWK }> {
    const pair = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true });
    const [publicKey, privateKey] = await Promise.all([exportJWK(pair.publicKey), exportJWK(pair.privateKey)]);
    const kid = await calculateJwkThumbprint(publicKey);
    const key = {
      kid,
      publicKey: { ...publicKey, kid, alg: 'EdDSA', use: 'sig' },
      sealedPrivateKey: this.keyring.seal(JSON.stringify(privateKey), sealedAt(kid)),
      isCurrent: true,
      createTime: now,
    };
    return { key, privateKey };
  }

  private opened({ kid, sealedPrivateKey }: SigningKey): Signer {
    return { kid, privateKey: JSON.parse(this.keyring.open(sealedPrivateKey, sealedAt(kid))) };
  }
}

async function publicKeys(tx: Tx): Promise<JWK[]> {
  const rows = await tx.query('select public_key from signing_keys order by create_time, kid', []);
  return rows.map(row => row.public_key as JWK);
}

/** Additional data of an encrypted private key: binds it to its row. */
const sealedAt = (kid: string) => `signing_keys.sealed_private_key ${kid}`;
