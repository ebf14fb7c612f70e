import { Controller } from '@nestjs/common';
import { batchCodeDetail, type In, listBatchCodes, type MerchantBatchDiscountCode } from '@recur/contracts';
import { type Caller, contains, Db, given, Handle, type Reader, sorted } from '@recur/platform';
import { plansById } from '../customers/plans.js';
import { usersById } from '../customers/users.js';
import type { Discount } from './domain/discount.js';
import { discounts, type GeneratedCode, generatedCodes, userDiscounts } from './tables.js';
import { generatedView } from './views.js';

/** Codes that were generated from templates, and who used them. */
@Controller()
export class GeneratedCodes {
  constructor(private readonly db: Db) {}

  @Handle(listBatchCodes)
  list({ templateId, code, page, count, ...input }: In<typeof listBatchCodes>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const named = { discountId: templateId, kind: 'template' } as const;
      const template = await reader.get(discounts, named, 'discount_not_found');
      const { rows, total } = await reader.page({
        from: generatedCodes,
        where: [
          ['template_id = ?', templateId],
          ['code ilike ?', code === '' ? undefined : contains(code)],
          ['create_time >= ?', given(input.createTimeStart)],
          ['create_time <= ?', given(input.createTimeEnd)],
        ],
        order: sorted({ createTime: 'create_time' }, input, 'code_id'),
        page,
        count,
      });
      return { children: await shown(reader, template, rows), total };
    });
  }

  @Handle(batchCodeDetail)
  detail({ id }: In<typeof batchCodeDetail>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const generated = await reader.get(generatedCodes, { codeId: id }, 'discount_not_found');
      const template = await reader.get(discounts, { discountId: generated.templateId }, 'discount_not_found');
      const [child] = await shown(reader, template, [generated]);
      if (!child) throw new Error(`generated code ${id} is not shown`);
      return { child };
    });
  }
}

async function shown(
  reader: Reader,
  template: Discount,
  rows: readonly GeneratedCode[],
): Promise<MerchantBatchDiscountCode[]> {
  const used = rows.flatMap(({ useId }) => (useId === 0 ? [] : [useId]));
  const uses = await reader.among(userDiscounts, 'useId', used);
  const [plans, users] = await Promise.all([
    plansById(
      reader,
      uses.map(({ planId }) => planId),
    ),
    usersById(reader, [...new Set(uses.map(({ userId }) => userId))]),
  ]);
  return rows.map(row => {
    const use = uses.find(({ useId }) => useId === row.useId);
    const of = { use, plan: use && plans.get(use.planId)?.data, user: use && users.get(use.userId) };
    return generatedView(template, row, reader.now, of);
  });
}
