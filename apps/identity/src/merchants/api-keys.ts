import { hash, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { type In, listApiKeys, newApiKey, revokeApiKey } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, CLOCK, type Clock, CONFIG, Db, Handle, type Tx } from '@recur/platform';
import { Callers, tellCallers } from '../callers/callers.js';
import { signToken } from '../callers/tokens.js';
import type { Config } from '../config.js';
import { type ApiKey, apiKeyLookups, apiKeys, merchants } from './tables.js';
import { apiKeyView } from './views.js';

const day = 86_400;
const limits = {
  jtiBytes: 24,
  /** Of one merchant. A key that ends tomorrow still holds. */
  heldAtOnce: 20,
  /** Of those that hold, or did within the last day: each gateway remembers for good which keys have ended. */
  heldInADay: 100,
  /** How long the previous keys hold beside the one that a rotation makes. */
  overlapSeconds: day,
  listed: 1_000,
} as const;

/** A key that was just made. `apiKey` is its only copy: of it, a hash of the jti is kept. */
export interface Issued {
  key: ApiKey;
  apiKey: string;
}

/** What an operator sees of a key. `revokedTime` is when it ended or will; 0: it holds until somebody ends it. */
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

@Injectable()
export class ApiKeys {
  constructor(
    private readonly db: Db,
    private readonly callers: Callers,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Handle(newApiKey)
  create(_input: In<typeof newApiKey>, caller: Caller) {
    return this.db.write(caller, async tx => ({ apiKey: (await this.rotateIn(tx, caller)).apiKey }));
  }

  @Handle(listApiKeys)
  async all(_input: In<typeof listApiKeys>, caller: Caller) {
    return { apiKeys: await this.list(caller) };
  }

  @Handle(revokeApiKey)
  end({ apiKeyId }: In<typeof revokeApiKey>, caller: Caller) {
    return this.db.write(caller, async tx => {
      await this.revokeIn(tx, caller, apiKeyId);
      return {};
    });
  }

  /** Makes a key of the transaction's merchant. */
  async issue(tx: Tx): Promise<Issued> {
    const [signer, id] = await Promise.all([this.callers.signer(tx), tx.nextId(apiKeys)]);
    const { merchantId, now } = tx;
    const jti = randomBytes(limits.jtiBytes).toString('base64url');
    const jtiHash = hash('sha256', jti, 'base64url');
    const hint = `key_...${jtiHash.slice(-6)}`;
    const key: ApiKey = { merchantId, id, jtiHash, hint, createTime: now, revokedTime: 0, version: 0 };
    tx.save(apiKeys, key);
    tx.save(apiKeyLookups, { jtiHash, merchantId, revokedTime: 0 });
    tx.emit('apikey.created', key, apiKeyView(key));
    const claims = { sub: String(merchantId), jti, iat: now };
    return { key, apiKey: await signToken(signer, this.config, 'api-key+jwt', claims) };
  }

  /** The merchant's keys, the newest first; of a great many, the newest `limits.listed`. */
  list(caller: Caller): Promise<KeyState[]> {
    return this.db.read(caller, async reader => {
      if (!(await reader.find(merchants, {}))) throw noMerchant(caller);
      const keys = await reader.all(apiKeys, {}, `order by id desc limit ${limits.listed}`);
      return keys.map(key => this.state(key));
    });
  }

  /**
   * Ends a key at once: gateways refuse it as soon as they hear of it. Ending it again changes nothing. A key does not
   * end itself, lest a merchant be left with none.
   */
  revoke(caller: Caller, id: number): Promise<Revocation> {
    return this.db.write(caller, async tx => {
      if (!(await tx.find(merchants, {}))) throw noMerchant(caller);
      if (!(await tx.find(apiKeys, { id }))) throw noKey(caller, id);
      return this.revokeIn(tx, caller, id);
    });
  }

  /**
   * Makes a new key; those before it hold for `limits.overlapSeconds` more, or as long as an earlier rotation has left
   * them. Rejects `too_many_api_keys` where the merchant has too many that hold, or, but for an operator, that did lately.
   */
  rotate(caller: Caller): Promise<Rotation> {
    return this.db.write(caller, tx => this.rotateIn(tx, caller));
  }

  private async revokeIn(tx: Tx, caller: Caller, id: number): Promise<Revocation> {
    const key = await tx.lock(apiKeys, { id }, 'api_key_not_found');
    if (caller.actor.kind === 'key' && caller.actor.id === key.jtiHash) throw new Rejected('own_api_key');
    if (this.state(key).state === 'revoked') return { key: this.state(key), changed: false };
    const revoked = await end(tx, key, this.seconds());
    await tellCallers(tx, { revoked: [revoked.jtiHash] });
    tx.log(`ApiKey(${id})`, 'Revoke');
    return { key: this.state(revoked), changed: true };
  }

  private async rotateIn(tx: Tx, caller: Caller): Promise<Rotation> {
    // one rotation after the other: each ends what the one before it has made
    if (!(await tx.lockIfAny(merchants, {}))) throw noMerchant(caller);
    const now = this.seconds();
    const lately = await tx.query(
      `select id, revoked_time = 0 or revoked_time > $2 as holds from api_keys
       where merchant_id = $1 and (revoked_time = 0 or revoked_time > $3) order by id`,
      [tx.merchantId, now, now - day],
    );
    const held = lately.filter(({ holds }) => holds);
    if (held.length >= limits.heldAtOnce) throw tooMany(caller);
    if (lately.length >= limits.heldInADay && caller.actor.kind !== 'system') throw tooManyLately(caller);
    const ending: ApiKey[] = [];
    for (const { id } of held) {
      const key = await tx.lock(apiKeys, { id: Number(id) }, 'internal_error');
      if (key.revokedTime === 0) ending.push(await end(tx, key, now + limits.overlapSeconds));
    }
    const { key, apiKey } = await this.issue(tx);
    if (ending.length > 0) await tellCallers(tx, { ending });
    tx.log(`ApiKey(${key.id})`, 'Rotate');
    return { key: this.state(key), apiKey, ending: ending.map(one => this.state(one)) };
  }

  private state({ id, hint, createTime, revokedTime }: ApiKey): KeyState {
    const ended = revokedTime <= this.seconds() ? 'revoked' : 'ending';
    return { id, hint, createTime, revokedTime, state: revokedTime === 0 ? 'active' : ended };
  }

  /** The machine's time, not the merchant's: gateways compare it with theirs. */
  private seconds(): number {
    return Math.floor(this.clock.wall() / 1000);
  }
}

/** From that second on the key does not hold. Its row is locked. */
async function end(tx: Tx, key: ApiKey, revokedTime: number): Promise<ApiKey> {
  const lookup = await tx.lockIfAny(apiKeyLookups, { jtiHash: key.jtiHash });
  if (!lookup) throw new Error(`the lookup of API key ${key.id} is missing`);
  const ended = { ...key, revokedTime };
  tx.save(apiKeys, ended);
  tx.save(apiKeyLookups, { ...lookup, revokedTime });
  tx.emit('apikey.revoked', ended, apiKeyView(ended));
  return ended;
}

const noMerchant = ({ merchantId }: Caller): Rejected => invalid('/merchant', `There is no merchant ${merchantId}`);
const noKey = ({ merchantId }: Caller, id: number): Rejected =>
  new Rejected('api_key_not_found', `Merchant ${merchantId} has no API key ${id}`);
const tooMany = ({ merchantId }: Caller): Rejected =>
  new Rejected(
    'too_many_api_keys',
    `Merchant ${merchantId} has ${limits.heldAtOnce} API keys that hold: revoke one of them first`,
  );
const tooManyLately = ({ merchantId }: Caller): Rejected =>
  new Rejected(
    'too_many_api_keys',
    `Merchant ${merchantId} has had ${limits.heldInADay} API keys within 24 hours: the next one can be made later`,
  );
