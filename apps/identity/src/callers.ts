import { Inject, Injectable } from '@nestjs/common';
import type { CallersChanged, MemberAccess } from '@recur/contracts';
import { CLOCK, type Clock, Db, Keyring, type Tx } from '@recur/platform';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';
import { callers, type SigningKey, signingKeys } from './tables.js';

const ROW = { id: 'callers' };
/** How many members one message tells of at most: with all the sessions that each may have, it stays below 2 MB. */
const limits = { members: 1_000 } as const;

/** Where a snapshot goes on: after this member. */
export interface After {
  merchantId: number;
  memberId: number;
}

/** All that gateways know of callers, up to `version`; of the members who are signed in, a page. */
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
   * The answer to `cmd.identity.platform.callers`: one statement, so that all of it is of that version. The members'
   * further pages come one by one, with nothing else: each is of a later version, and whoever applies the events since
   * the first page's ends at the truth.
   */
  async snapshot({ after }: { after?: After }): Promise<CallersSnapshot> {
    const at = Math.floor(this.clock.wall() / 1000);
    if (after)
      return { version: await this.version(), keys: [], revoked: [], ending: [], ...(await this.members(at, after)) };
    const [row] = await this.db.infra(
      `select version,
        array(select public_key from signing_keys order by create_time, kid) as keys,
        array(select jti_hash from api_key_lookups where revoked_time between 1 and $1
          order by revoked_time, jti_hash) as revoked,
        array(select json_build_object('jtiHash', jti_hash, 'revokedTime', revoked_time) from api_key_lookups
          where revoked_time > 0 and revoked_time > $1 order by revoked_time, jti_hash) as ending,
        ${membersText('$1', '0', '0')} as members
       from callers`,
      [at],
    );
    return paged(row as unknown as Omit<CallersSnapshot, 'next'>);
  }

  async version(): Promise<number> {
    const [row] = await this.db.infra('select version from callers');
    return Number(row?.version);
  }

  private async members(at: number, { merchantId, memberId }: After) {
    const [row] = await this.db.infra(`select ${membersText('$1', '$2', '$3')} as members`, [at, merchantId, memberId]);
    return paged(row as { members: MemberAccess[] });
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

/** The members who are signed in, the first page after one; the parameters are SQL. */
const membersText = (at: string, merchantId: string, memberId: string) => `coalesce((select json_agg(m) from (
    select member_id as id, merchant_id as "merchantId", min(email) as email, min(granted) as "grant",
      json_agg(json_build_object('sid', sid, 'expireTime', expire_time) order by sid) as sessions
    from live_sessions
    where expire_time > ${at} and (merchant_id, member_id) > (${merchantId}::bigint, ${memberId}::bigint)
    group by merchant_id, member_id order by merchant_id, member_id limit ${limits.members}) m), '[]')`;

/** Says where a full page goes on. */
function paged<P extends { members: readonly MemberAccess[] }>(page: P): P & { next: After | null } {
  const last = page.members.length < limits.members ? undefined : page.members.at(-1);
  return { ...page, next: last ? { merchantId: last.merchantId, memberId: last.id } : null };
}

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
