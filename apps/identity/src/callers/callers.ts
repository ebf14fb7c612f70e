import { Inject, Injectable } from '@nestjs/common';
import type { CallersChanged } from '@recur/contracts';
import { CLOCK, type Clock, Db, Keyring, type Tx } from '@recur/platform';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';
import { callers, type SigningKey, signingKeys } from './tables.js';

const ROW = { id: 'callers' };
/**
 * How many members, and how many API keys that have ended or will, one message tells of at most: with all the sessions
 * that each may have, it stays below 3 MB.
 */
const limits = { members: 1_000, endedKeys: 10_000 } as const;

/** Where a snapshot goes on: after this member and this key. */
export interface After {
  merchantId: number;
  memberId: number;
  /** A gateway of before pages had none: it is told of no more keys than the first page has. */
  jtiHash?: string;
}

/** All that gateways know of callers, up to `version`; of the members who are signed in and of ended keys, a page. */
export interface CallersSnapshot extends CallersChanged {
  version: number;
  next: After | null;
}

/** A pair that signs: its id and its private half. */
export interface Signer {
  kid: string;
  privateKey: JWK;
}

/** The keys that sign tokens, and what gateways are told of them and of credentials that no longer hold. */
@Injectable()
export class Callers {
  constructor(
    private readonly db: Db,
    private readonly keyring: Keyring,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** The key pair that signs now. At first need it is made, and gateways are told within the same transaction. */
  async signer(tx: Tx): Promise<Signer> {
    const current = await tx.find(signingKeys, { isCurrent: true });
    if (current) return this.opened(current);
    await lockCallers(tx);
    // who held the lock before may have made it
    const made = await tx.find(signingKeys, { isCurrent: true });
    if (made) return this.opened(made);
    const { key, privateKey } = await this.newKey(tx.now);
    tx.save(signingKeys, key);
    await tellCallers(tx, { keys: [...(await publicKeys(tx)), key.publicKey] });
    return { kid: key.kid, privateKey };
  }

  /**
   * The answer to `cmd.identity.platform.callers`: one statement, so that all of it is of that version. Further pages
   * come one by one, each of a later version: whoever applies the events since the first page's ends at the truth.
   */
  async snapshot({ after }: { after?: After }): Promise<CallersSnapshot> {
    const { merchantId, memberId, jtiHash = null } = after ?? { merchantId: 0, memberId: 0, jtiHash: '' };
    const at = Math.floor(this.clock.wall() / 1000);
    const [row] = await this.db.infra(pageText, [at, merchantId, memberId, jtiHash]);
    const { last, ...page } = row as unknown as CallersSnapshot & { last: string | null };
    const { members, revoked, ending } = page;
    const isLast = members.length < limits.members && revoked.length + ending.length < limits.endedKeys;
    const { merchantId: lastMerchantId = merchantId, id = memberId } = members.at(-1) ?? {};
    return {
      ...page,
      next: isLast ? null : { merchantId: lastMerchantId, memberId: id, jtiHash: last ?? jtiHash ?? undefined },
    };
  }

  async version(): Promise<number> {
    const [row] = await this.db.infra('select version from callers');
    return Number(row?.version);
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

/** What is told at $1 (unix seconds) of the members after merchant $2 and member $3, and of ended keys after $4. */
const pageText = `with ended as (
    select jti_hash, revoked_time from api_key_lookups where revoked_time > 0 and jti_hash > $4::text
    order by jti_hash limit ${limits.endedKeys})
  select version,
    array(select public_key from signing_keys order by create_time, kid) as keys,
    array(select jti_hash from ended where revoked_time <= $1 order by jti_hash) as revoked,
    array(select json_build_object('jtiHash', jti_hash, 'revokedTime', revoked_time) from ended
      where revoked_time > $1 order by jti_hash) as ending,
    (select max(jti_hash) from ended) as last,
    coalesce((select json_agg(m) from (
      select member_id as id, merchant_id as "merchantId", min(email) as email, min(granted) as "grant",
        json_agg(json_build_object('sid', sid, 'expireTime', expire_time) order by sid) as sessions
      from live_sessions
      where expire_time > $1 and (merchant_id, member_id) > ($2::bigint, $3::bigint)
      group by merchant_id, member_id order by merchant_id, member_id limit ${limits.members}) m), '[]') as members
  from callers`;

/**
 * Tells gateways, within the transaction that changes it, of keys that verify (all of them), of API keys that hold no
 * longer and of those that will not, and of members whose sessions or permissions change. Takes the last of its locks,
 * and answers the version from which on gateways know.
 */
export async function tellCallers(
  tx: Tx,
  { keys = [], revoked = [], ending = [], members = [] }: Partial<CallersChanged>,
): Promise<number> {
  const row = await lockCallers(tx);
  tx.save(callers, row);
  const ends = ending.map(({ jtiHash, revokedTime }) => ({ jtiHash, revokedTime }));
  tx.emit('callers.changed', row, { keys, revoked, ending: ends, members: members.slice(0, limits.members) });
  let version = row.version + 1;
  for (let from = limits.members; from < members.length; from += limits.members, version++) {
    const more = members.slice(from, from + limits.members);
    tx.emit('callers.changed', row, { keys: [], revoked: [], ending: [], members: more });
  }
  return version;
}

/** One after the other, whatever merchant they act for: so the events are numbered without a gap, in commit order. */
async function lockCallers(tx: Tx) {
  const row = await tx.lockIfAny(callers, ROW);
  if (!row) throw new Error('the row of callers is missing: migrations make it');
  return row;
}

async function publicKeys(tx: Tx): Promise<JWK[]> {
  const rows = await tx.query('select public_key from signing_keys order by create_time, kid', []);
  return rows.map(row => row.public_key as JWK);
}

/** What an encrypted private key is bound to. */
const sealedAt = (kid: string) => `signing_keys.sealed_private_key ${kid}`;
