import { Injectable } from '@nestjs/common';
import { Db, systemCaller } from '@recur/platform';
import { insertMember } from '../members/member-rows.js';
import { members } from '../members/tables.js';
import { ApiKeys } from './api-keys.js';
import { merchants } from './tables.js';
import { merchantState } from './views.js';

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
    private readonly apiKeys: ApiKeys,
  ) {}

  /** Creates a merchant with its owner and its first API key. */
  async create({ name, email }: { name: string; email: string }, requestId: string): Promise<NewMerchant> {
    const [sequence] = await this.db.infra(`select nextval('merchants_id_seq') as id`);
    const merchantId = Number(sequence?.id);
    const caller = systemCaller(merchantId, requestId, Number.POSITIVE_INFINITY);
    return this.db.write(caller, async tx => {
      const memberId = await tx.nextId(members);
      const createTime = tx.now;
      const merchant = { merchantId, name, profile: {}, createTime, version: 0 };

      tx.save(merchants, merchant);
      tx.emit('merchant.created', merchant, merchantState(merchant));
      insertMember(tx, { id: memberId, email, firstName: '', lastName: '', isOwner: true, roleIds: [] });
      tx.log(`Merchant(${merchantId})`, 'New');
      const { apiKey } = await this.apiKeys.issue(tx);
      return { merchantId, memberId, apiKey };
    });
  }
}
