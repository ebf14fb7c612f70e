import { Injectable } from '@nestjs/common';
import { Db, systemCaller } from '@recur/platform';
import { memberAggregate } from '../members/aggregates.js';
import { emailLookup, newMember } from '../members/member-rows.js';
import { memberEmails, members } from '../members/tables.js';
import { merchantAggregate } from './aggregates.js';
import { MerchantKeys } from './merchant-keys.js';

export interface NewMerchant {
  merchantId: number;
  memberId: number;
  /** The only copy. */
  apiKey: string;
}

/** Creates merchants, for the operator's command and the first run. */
@Injectable()
export class Merchants {
  constructor(
    private readonly db: Db,
    private readonly keys: MerchantKeys,
  ) {}

  /** Creates a merchant with its owner and its first API key. */
  async create({ name, email }: { name: string; email: string }, requestId: string): Promise<NewMerchant> {
    const [sequence] = await this.db.infra(`select nextval('merchants_id_seq') as id`);
    const merchantId = Number(sequence?.id);
    const caller = systemCaller(merchantId, requestId, Number.POSITIVE_INFINITY);
    return this.db.write(caller, async tx => {
      const memberId = await tx.nextId(members);
      const merchant = { merchantId, name, profile: {}, createTime: tx.now, version: 0 };
      tx.step(merchantAggregate, merchant, 'merchant.created', { log: 'New' });
      const names = { email, firstName: '', lastName: '' };
      const owner = newMember(tx, { ...names, id: memberId, isOwner: true, roleIds: [] });
      tx.save(memberEmails, emailLookup(owner));
      tx.step(memberAggregate, owner, 'member.created');
      const { apiKey } = await this.keys.issue(tx);
      return { merchantId, memberId, apiKey };
    });
  }
}
