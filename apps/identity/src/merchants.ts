import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { invalid } from '@recur/kernel';
import { Db, systemCaller } from '@recur/platform';
import { ApiKeys } from './api-keys.js';
import { emailKey } from './domain/email.js';
import { memberEmails, members, merchants } from './tables.js';
import { merchantView } from './views.js';

export interface NewMerchant {
  merchantId: number;
  memberId: number;
  /** Shown once, kept nowhere. */
  apiKey: string;
}

@Injectable()
export class Merchants {
  constructor(
    private readonly db: Db,
    private readonly apiKeys: ApiKeys,
  ) {}

  /**
   * Makes a merchant with its owner and its first API key. Rejects `invalid_parameters` at /email where a member of
   * any merchant has that e-mail.
   */
  async create({ name, email }: { name: string; email: string }, requestId: string): Promise<NewMerchant> {
    const [sequence] = await this.db.infra(`select nextval('merchants_id_seq') as id`);
    const merchantId = Number(sequence?.id);
    const caller = systemCaller(merchantId, requestId, Number.POSITIVE_INFINITY);
    return this.db.write(caller, async tx => {
      const memberId = await tx.nextId(members);
      const createTime = tx.now;
      const merchant = { merchantId, name, createTime, version: 0 };
      const key = emailKey(email);
      tx.onConflict('member_emails_pkey', () =>
        invalid('/email', 'A member with this e-mail exists already; it is unique in a deployment'),
      );
      tx.save(merchants, merchant);
      tx.save(memberEmails, { emailHash: createHash('sha256').update(key).digest('base64url'), merchantId });
      tx.save(members, {
        merchantId,
        id: memberId,
        email,
        emailKey: key,
        firstName: '',
        lastName: '',
        isOwner: true,
        status: 'active',
        createTime,
        version: 1,
      });
      tx.emit('merchant.created', merchant, merchantView(merchant));
      tx.log(`Merchant(${merchantId})`, 'New');
      const { apiKey } = await this.apiKeys.issue(tx);
      return { merchantId, memberId, apiKey };
    });
  }
}
