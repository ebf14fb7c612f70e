import { Controller } from '@nestjs/common';
import {
  discountBillingType,
  discountStatus,
  discountType,
  getDiscount,
  type In,
  listDiscounts,
  listUserDiscounts,
  userDiscountStatus,
} from '@recur/contracts';
import { type Caller, type Condition, Db, given, Handle, type Reader, sorted } from '@recur/platform';
import { plansById } from '../customers/catalog.js';
import { usersByEmail, usersById } from '../customers/users.js';
import type { Discount } from './domain/discount.js';
import { discounts, userDiscounts } from './tables.js';
import { discountDetailView, discountUseView } from './views.js';

const discountsOrder = { createTime: 'create_time' };

/** Reads of discounts and their uses. */
@Controller()
export class DiscountLists {
  constructor(private readonly db: Db) {}

  @Handle(getDiscount)
  detail({ id }: In<typeof getDiscount>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const row = await reader.get(discounts, { discountId: id, deletedTime: 0 }, 'discount_not_found');
      const [discount] = await discountDetails(reader, [row]);
      if (!discount) throw new Error(`discount ${id} is not shown`);
      return { discount };
    });
  }

  @Handle(listDiscounts)
  list(input: In<typeof listDiscounts>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const { rows, total } = await reader.page({
        from: discounts,
        where: discountsWhere(input, reader.now),
        order: sorted(discountsOrder, input, 'discount_id'),
        page: input.page,
        count: input.count,
      });
      return { discounts: await discountDetails(reader, rows), total };
    });
  }

  @Handle(listUserDiscounts)
  uses(input: In<typeof listUserDiscounts>, caller: Caller) {
    return this.db.read(caller, async reader => {
      await reader.get(discounts, { discountId: input.id }, 'discount_not_found');
      const { rows, total } = await reader.page({
        from: userDiscounts,
        where: await usesWhere(reader, input),
        order: sorted(discountsOrder, input, 'use_id'),
        page: input.page,
        count: input.count,
      });
      const [plans, users] = await Promise.all([
        plansById(
          reader,
          rows.map(({ planId }) => planId),
        ),
        usersById(reader, [...new Set(rows.map(({ userId }) => userId))]),
      ]);
      const shown = rows.map(row =>
        discountUseView(row, plans.get(row.planId)?.data ?? null, users.get(row.userId) ?? null),
      );
      return { userDiscounts: shown, total };
    });
  }
}

/** The conditions of discount/user_discount_list. */
export async function usesWhere(reader: Reader, input: In<typeof listUserDiscounts>): Promise<Condition[]> {
  return [
    ['discount_id = ?', input.id],
    ['user_id = any(?)', given(input.userIds)],
    ['user_id = any(?)', input.email ? await usersByEmail(reader, input.email) : undefined],
    ['plan_id = any(?)', given(input.planIds)],
    ['subscription_id = any(?)', given(input.subscriptionIds)],
    ['status = any(?)', namesOf(userDiscountStatus, given(input.status))],
    ['code = ?', given(input.childCode)],
    ['create_time >= ?', given(input.createTimeStart)],
    ['create_time <= ?', given(input.createTimeEnd)],
  ];
}

/** The conditions of discount/list: codes that anybody may use, no templates. */
export const discountsWhere = (input: In<typeof listDiscounts>, now: number): Condition[] => [
  ['subscription_id = ?', ''],
  ['kind = ?', 'code'],
  ...conditionsOf(input, now),
];

type DiscountFilters = Omit<In<typeof listDiscounts>, 'page' | 'count' | 'sortField' | 'sortType'>;

/** The filters of a list of discounts, codes or templates, as conditions. */
export function conditionsOf(input: DiscountFilters, now: number): Condition[] {
  const status = namesOf(discountStatus, given(input.status));
  return [
    [`${statusNow(now)} = any(?)`, status],
    ['deleted_time = ?', status?.includes('archived') ? undefined : 0],
    ['billing_type = any(?)', namesOf(discountBillingType, given(input.billingType))],
    ['discount_type = any(?)', namesOf(discountType, given(input.discountType))],
    ['code = ?', given(input.code)],
    [`position(lower(?::text) in lower(code || E'\\n' || name)) > 0`, given(input.searchKey)],
    ['currency = ?', given(input.currency)],
    ['create_time >= ?', given(input.createTimeStart)],
    ['create_time <= ?', given(input.createTimeEnd)],
  ];
}

/** The status at a time as SQL, as `statusAt` says; `now` is a number of ours. */
export const statusNow = (now: number) =>
  `case when status = 'active' and end_time <> 0 and end_time <= ${now} then 'expired' else status end`;

/** Names of the codes; unknown codes are dropped, so a filter by them matches nothing. */
const namesOf = (table: Readonly<Record<string, number>>, codes: readonly number[] | undefined) =>
  codes && Object.keys(table).filter(name => codes.includes(table[name] ?? Number.NaN));

async function discountDetails(reader: Reader, rows: readonly Discount[]) {
  const plans = await plansById(reader, [...new Set(rows.flatMap(({ planIds }) => planIds))]);
  return rows.map(row => {
    const named = row.planIds.flatMap(id => plans.get(id)?.data ?? []);
    return discountDetailView(row, reader.now, named);
  });
}
