import { Inject, Injectable } from '@nestjs/common';
import type { CallersSnapshot, callersSnapshot, In } from '@recur/contracts';
import { CLOCK, type Clock, Db } from '@recur/platform';
import { membersPerMessage } from './callers-changed.js';

const endedKeysPerPage = 10_000;

/** Snapshots of callers for gateways that start or have missed an event. */
@Injectable()
export class CallerSnapshots {
  constructor(
    private readonly db: Db,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Answers `callersSnapshot`. Each page is one statement, so all of it is of one version. Later pages
   * have later versions: applying the events since the first page's version makes the whole consistent.
   */
  async page({ after }: In<typeof callersSnapshot>): Promise<CallersSnapshot> {
    const { merchantId, memberId, jtiHash = null } = after ?? { merchantId: 0, memberId: 0, jtiHash: '' };
    const at = Math.floor(this.clock.wall() / 1000);
    const [row] = await this.db.infra(pageText, [at, merchantId, memberId, jtiHash]);
    const { last, ...page } = row as unknown as CallersSnapshot & { last: string | null };
    const { members, revoked, ending } = page;
    const isLast = members.length < membersPerMessage && revoked.length + ending.length < endedKeysPerPage;
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
}

/** SQL for a page at $1 (unix seconds): members after merchant $2 and member $3, ended keys after $4. */
const pageText = `with ended as (
    select jti_hash, revoked_time from api_key_lookups where revoked_time > 0 and jti_hash > $4::text
    order by jti_hash limit ${endedKeysPerPage})
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
      group by merchant_id, member_id order by merchant_id, member_id limit ${membersPerMessage}) m), '[]') as members
  from callers`;
