import { Controller } from '@nestjs/common';
import { type In, listSubscriptionNotes, newSubscriptionNote } from '@recur/contracts';
import { type Caller, Db, Handle } from '@recur/platform';
import { subscriptionNotes, subscriptions } from '../tables.js';

/** Notes of members on subscriptions. */
@Controller()
export class SubscriptionNotes {
  constructor(private readonly db: Db) {}

  @Handle(newSubscriptionNote)
  add({ subscriptionId, note }: In<typeof newSubscriptionNote>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const { userId } = await tx.get(subscriptions, { subscriptionId }, 'subscription_not_found');
      const { kind, id, display } = caller.actor;
      const member = kind === 'member' ? { memberId: Number(id), memberEmail: display } : noMember;
      tx.save(subscriptionNotes, {
        merchantId: tx.merchantId,
        id: await tx.nextId(subscriptionNotes),
        subscriptionId,
        note,
        ...member,
        createTime: tx.now,
      });
      tx.log(`Subscription(${subscriptionId})`, 'NewAdminNote', { subscriptionId, userId });
      return {};
    });
  }

  @Handle(listSubscriptionNotes)
  list({ subscriptionId, page, count }: In<typeof listSubscriptionNotes>, caller: Caller) {
    return this.db.read(caller, async reader => {
      await reader.get(subscriptions, { subscriptionId }, 'subscription_not_found');
      const where = [['subscription_id = ?', subscriptionId]] as const;
      const { rows, total } = await reader.page({ from: subscriptionNotes, where, order: 'id desc', page, count });
      const noteLists = rows.map(({ id, note, createTime, memberId, memberEmail }) => {
        const merchantMember = memberId === 0 ? null : { id: memberId, email: memberEmail };
        return { id, note, createTime, subscriptionId, merchantMember };
      });
      return { noteLists, total };
    });
  }
}

const noMember = { memberId: 0, memberEmail: '' };
