import { hash, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, CLOCK, type Clock, CONFIG, Db, type Tx } from '@recur/platform';
import { publishCallers } from '../callers/callers-changed.js';
import { SigningKeys } from '../callers/signing-keys.js';
import { signToken } from '../callers/tokens.js';
import type { Config } from '../config.js';
import { apiKeyAggregate } from './aggregates.js';
import { type ApiKey, apiKeyLookups, apiKeys, merchants } from './tables.js';

const day = 86_400;
const jtiBytes = 24;
/** Per merchant. */
const keyLimits = {
  /** Valid keys, those that will end included. */
  valid: 20,
  /** Keys valid within the last day: each gateway remembers ended keys forever. */
  validInADay: 100,
  /** Grace period of the previous keys after a rotation. */
  overlapSeconds: day,
  listed: 1_000,
} as const;

/** A new key. `apiKey` is its only copy: the database holds a hash of its jti. */
export interface Issued {
  key: ApiKey;
  apiKey: string;
}

/** A key as operators see it. `revokedTime` is when it ended or will end; 0 for no end. */
export interface KeyState extends Pick<ApiKey, 'id' | 'hint' | 'createTime' | 'revokedTime'> {
  state: 'active' | 'ending' | 'revoked';
}

interface Revocation {
  key: KeyState;
  changed: boolean;
}

interface Rotation {
  key: KeyState;
  apiKey: string;
  ending: KeyState[];
}

/** API keys of merchants, for the API and for the operator's command. */
@Injectable()
export class MerchantKeys {
  constructor(
    private readonly db: Db,
    private readonly signingKeys: SigningKeys,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Issues a key of the transaction's merchant; `log` is the content of its log entry. */
  async issue(tx: Tx, log?: string): Promise<Issued> {
    const [signer, id] = await Promise.all([this.signingKeys.signer(tx), tx.nextId(apiKeys)]);
    const { merchantId, now } = tx;
    const jti = randomBytes(jtiBytes).toString('base64url');
    const jtiHash = hash('sha256', jti, 'base64url');
    const hint = `key_...${jtiHash.slice(-6)}`;
    const key: ApiKey = { merchantId, id, jtiHash, hint, createTime: now, revokedTime: 0, version: 0 };
    tx.step(apiKeyAggregate, key, 'apikey.created', { log });
    tx.save(apiKeyLookups, { jtiHash, merchantId, revokedTime: 0 });
    const claims = { sub: String(merchantId), jti, iat: now };
    return { key, apiKey: await signToken(signer, this.config, 'api-key+jwt', claims) };
  }

  /** The merchant's newest keys, newest first, at most `keyLimits.listed`. */
  list(caller: Caller): Promise<KeyState[]> {
    return this.db.read(caller, async reader => {
      if (!(await reader.find(merchants, {}))) throw noMerchant(caller);
      const keys = await reader.all(apiKeys, {}, `order by id desc limit ${keyLimits.listed}`);
      return keys.map(key => this.state(key));
    });
  }

  /**
   * Revokes a key at once: gateways refuse it as soon as they receive the event. Idempotent. A key cannot revoke itself,
   * which could leave the merchant with none.
   */
  revoke(caller: Caller, id: number): Promise<Revocation> {
    return this.db.write(caller, async tx => {
      if (!(await tx.find(merchants, {}))) throw noMerchant(caller);
      if (!(await tx.find(apiKeys, { id }))) throw noKey(caller, id);
      return this.revokeIn(tx, caller, id);
    });
  }

  /**
   * Issues a new key; previous keys stay valid for `keyLimits.overlapSeconds`, or until an end that was set before.
   * Rejects `too_many_api_keys` at the limit of valid keys and, unless an operator asks, at the limit for a day.
   */
  rotate(caller: Caller): Promise<Rotation> {
    return this.db.write(caller, tx => this.rotateIn(tx, caller));
  }

  /** Revokes a key within a transaction; see `revoke`. */
  async revokeIn(tx: Tx, caller: Caller, id: number): Promise<Revocation> {
    const key = await tx.lock(apiKeyAggregate, id, 'api_key_not_found');
    if (caller.actor.kind === 'key' && caller.actor.id === key.jtiHash) throw new Rejected('own_api_key');
    if (this.state(key).state === 'revoked') return { key: this.state(key), changed: false };
    const revoked = await end(tx, key, this.seconds(), 'Revoke');
    await publishCallers(tx, { revoked: [revoked.jtiHash] });
    return { key: this.state(revoked), changed: true };
  }

  /** Issues a new key within a transaction; see `rotate`. */
  async rotateIn(tx: Tx, caller: Caller): Promise<Rotation> {
    // serializes rotations: each one ends the key that the one before it issued
    if (!(await tx.lockIfAny(merchants, {}))) throw noMerchant(caller);
    const now = this.seconds();
    const recent = await tx.query(
      `select id, revoked_time = 0 or revoked_time > $2 as holds from api_keys
       where merchant_id = $1 and (revoked_time = 0 or revoked_time > $3) order by id`,
      [tx.merchantId, now, now - day],
    );
    const valid = recent.filter(({ holds }) => holds);
    if (valid.length >= keyLimits.valid) throw tooMany(caller);
    if (recent.length >= keyLimits.validInADay && caller.actor.kind !== 'system') throw tooManyInADay(caller);
    const ending: ApiKey[] = [];
    for (const { id } of valid) {
      const key = await tx.lock(apiKeyAggregate, Number(id), 'internal_error');
      if (key.revokedTime === 0) ending.push(await end(tx, key, now + keyLimits.overlapSeconds));
    }
    const { key, apiKey } = await this.issue(tx, 'Rotate');
    if (ending.length > 0) await publishCallers(tx, { ending });
    return { key: this.state(key), apiKey, ending: ending.map(one => this.state(one)) };
  }

  private state({ id, hint, createTime, revokedTime }: ApiKey): KeyState {
    const ended = revokedTime <= this.seconds() ? 'revoked' : 'ending';
    return { id, hint, createTime, revokedTime, state: revokedTime === 0 ? 'active' : ended };
  }

  /** Unix seconds of the machine, not of the merchant's clock: gateways compare them with their own. */
  private seconds(): number {
    return Math.floor(this.clock.wall() / 1000);
  }
}

/** Sets the time from which a key is invalid. Its row is locked. */
async function end(tx: Tx, key: ApiKey, revokedTime: number, log?: string): Promise<ApiKey> {
  const lookup = await tx.lockIfAny(apiKeyLookups, { jtiHash: key.jtiHash });
  if (!lookup) throw new Error(`the lookup of API key ${key.id} is missing`);
  const ended = { ...key, revokedTime };
  tx.step(apiKeyAggregate, ended, 'apikey.revoked', { log });
  tx.save(apiKeyLookups, { ...lookup, revokedTime });
  return ended;
}

const noMerchant = ({ merchantId }: Caller): Rejected => invalid('/merchant', `There is no merchant ${merchantId}`);
const noKey = ({ merchantId }: Caller, id: number): Rejected =>
  new Rejected('api_key_not_found', `Merchant ${merchantId} has no API key ${id}`);
const tooMany = ({ merchantId }: Caller): Rejected =>
  new Rejected('too_many_api_keys', `Merchant ${merchantId} has ${keyLimits.valid} valid API keys: revoke one first`);
const tooManyInADay = ({ merchantId }: Caller): Rejected =>
  new Rejected(
    'too_many_api_keys',
    `Merchant ${merchantId} had ${keyLimits.validInADay} valid API keys within the last 24 hours: try again later`,
  );
