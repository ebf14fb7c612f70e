import { createHash, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { invalid } from '@recur/kernel';
import { type Caller, CONFIG, Db, type Tx } from '@recur/platform';
import { importJWK, SignJWT } from 'jose';
import { Callers, tellRevoked } from './callers.js';
import type { Config } from './config.js';
import { type ApiKey, apiKeyLookups, apiKeys } from './tables.js';
import { apiKeyView } from './views.js';

const limits = { jtiBytes: 24 } as const;

@Injectable()
export class ApiKeys {
  constructor(
    private readonly db: Db,
    private readonly callers: Callers,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Makes a key of the transaction's merchant. What it returns is the only copy: of it, a hash of the jti is kept. */
  async issue(tx: Tx): Promise<string> {
    const [signer, id] = await Promise.all([this.callers.signer(tx), tx.nextId(apiKeys)]);
    const { merchantId, now } = tx;
    const jti = randomBytes(limits.jtiBytes).toString('base64url');
    const jtiHash = createHash('sha256').update(jti).digest('base64url');
    const hint = `key_…${jtiHash.slice(-6)}`;
    const key: ApiKey = { merchantId, id, jtiHash, hint, createTime: now, revokedTime: 0, version: 0 };
    tx.save(apiKeys, key);
    tx.save(apiKeyLookups, { jtiHash, merchantId, revokedTime: 0 });
    tx.emit('apikey.created', key, apiKeyView(key));
    return new SignJWT({ env: this.config.RECUR_ENV })
      .setProtectedHeader({ alg: 'EdDSA', typ: 'api-key+jwt', kid: signer.kid })
      .setIssuer(this.config.TOKEN_ISSUER)
      .setAudience('recur')
      .setSubject(String(merchantId))
      .setJti(jti)
      .setIssuedAt(now)
      .sign(await importJWK(signer.privateKey, 'EdDSA'));
  }

  /** Ends a key at once: gateways refuse it as soon as they hear of it. Ending it again changes nothing. */
  revokeKey(caller: Caller, id: number): Promise<object> {
    return this.db.write(caller, async tx => {
      const key = await tx.lockIfAny(apiKeys, { id });
      if (!key) throw invalid('/id', 'No such API key');
      if (key.revokedTime !== 0) return {};
      const { jtiHash } = key;
      const lookup = await tx.lockIfAny(apiKeyLookups, { jtiHash });
      if (!lookup) throw new Error(`the lookup of API key ${id} is missing`);
      const revoked = { ...key, revokedTime: tx.now };
      tx.save(apiKeys, revoked);
      tx.save(apiKeyLookups, { ...lookup, revokedTime: tx.now });
      tx.emit('apikey.revoked', revoked, apiKeyView(revoked));
      await tellRevoked(tx, [jtiHash]);
      tx.log(`ApiKey(${id})`, 'Revoke');
      return {};
    });
  }
}
