import { Controller } from '@nestjs/common';
import {
  type In,
  listSubscriptions,
  subscriptionDetail,
  subscriptionStatus,
  userSubscriptionDetail,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, type Condition, Db, each, given, Handle, type Reader, sorted } from '@recur/platform';
import { findUser, usersByEmail } from '../../customers/users.js';
import { Arrears } from '../arrears.js';
import type { SubscriptionStatus } from '../domain/lifecycle.js';
import type { Subscription } from '../domain/subscription.js';
import { newestOf } from '../find.js';
import { subscriptions } from '../tables.js';
import { detailOf, detailsOf } from './details.js';
import { whyNoneFollows } from './next-invoice.js';

type Input = In<typeof listSubscriptions>;

/** subscription/detail, user_subscription_detail and list. */
@Controller()
export class SubscriptionReads {
  constructor(
    private readonly db: Db,
    private readonly arrears: Arrears,
  ) {}

  @Handle(subscriptionDetail)
  detail({ subscriptionId }: In<typeof subscriptionDetail>, caller: Caller) {
    return this.db.read(caller, async reader =>
      this.shown(reader, await reader.get(subscriptions, { subscriptionId }, 'subscription_not_found')),
    );
  }

  @Handle(userSubscriptionDetail)
  ofUser({ userId, externalUserId, productId }: In<typeof userSubscriptionDetail>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const user = await findUser(reader, userId === 0 ? { externalUserId } : { userId });
      if (!user) throw new Rejected('user_not_found');
      const sub = await newestOf(reader, { userId: user.id, productId });
      if (sub) return this.shown(reader, sub);
      return {
        addonParams: [],
        addons: [],
        gateway: null,
        latestInvoice: null,
        plan: null,
        subscription: null,
        unfinishedSubscriptionPendingUpdate: null,
        user: user.data,
        hasNextInvoice: false,
        noNextInvoiceReason: 'The user has no subscription to this product',
      };
    });
  }

  private async shown(reader: Reader, sub: Subscription) {
    const [detail, noNextInvoiceReason] = await Promise.all([
      detailOf(reader, sub),
      whyNoneFollows(reader, this.arrears, sub),
    ]);
    return { ...detail, hasNextInvoice: noNextInvoiceReason === '', noNextInvoiceReason };
  }

  @Handle(listSubscriptions)
  list(input: Input, caller: Caller) {
    return this.db.read(caller, async reader => {
      const { page, count } = input;
      const { rows, total } = await reader.page({
        from: subscriptions,
        where: await subscriptionsWhere(reader, input),
        order: sorted({ createTime: 'create_time', modifyTime: 'modify_time' }, input),
        page,
        count,
      });
      return { subscriptions: await detailsOf(reader, rows), total };
    });
  }
}

/** The conditions of subscription/list. */
export async function subscriptionsWhere(reader: Reader, input: Input): Promise<Condition[]> {
  const { Email, externalUserId, searchKey } = input;
  const [byEmail, byExternalId] = await Promise.all([
    Email ? usersByEmail(reader, Email) : undefined,
    externalUserId ? findUser(reader, { externalUserId }) : undefined,
  ]);
  const search = given(searchKey);
  const status = given(input.status)?.flatMap(statusOf);
  return [
    ['user_id = ?', given(input.userId)],
    each('user_id', byEmail),
    ['user_id = ?', externalUserId ? (byExternalId?.id ?? 0) : undefined],
    each('status', status),
    ['currency = ?', given(input.currency)],
    ['amount >= ?', given(input.amountStart)],
    ['amount <= ?', given(input.amountEnd)],
    each('plan_id', given(input.planIds)),
    each('product_id', given(input.productIds)),
    ['create_time >= ?', given(input.createTimeStart)],
    ['create_time <= ?', given(input.createTimeEnd)],
    search?.startsWith('sub_') ? ['subscription_id = ?', search] : each('user_id', await searched(reader, search)),
  ];
}

const statusOf = (code: number): SubscriptionStatus[] =>
  (Object.keys(subscriptionStatus) as SubscriptionStatus[]).filter(name => subscriptionStatus[name] === code);

/** Ids of the users that a search key names: by id, own id or e-mail. */
async function searched(reader: Reader, key: string | undefined): Promise<number[] | undefined> {
  if (key === undefined) return undefined;
  const id = /^\d{1,15}$/.test(key) ? [Number(key)] : [];
  const [byEmail, byExternalId] = await Promise.all([
    usersByEmail(reader, key),
    findUser(reader, { externalUserId: key }),
  ]);
  return [...id, ...byEmail, ...(byExternalId ? [byExternalId.id] : [])];
}
