import { Controller } from '@nestjs/common';
import { batchCodeDetail, type In, listBatchCodes, type MerchantBatchDiscountCode } from '@recur/contracts';
import { type Caller, type Condition, contains, Db, given, Handle, type Reader, sorted } from '@recur/platform';
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
  list(input: In<typeof listBatchCodes>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const template = await templateOf(reader, input);
      const { rows, total } = await reader.page({
        from: generatedCodes,
        where: codesWhere(input),
        order: sorted({ createTime: 'create_time' }, input, 'code_id'),
        page: input.page,
        count: input.count,
      });
      return { children: await shownCodes(reader, template, rows), total };
    });
  }

  @Handle(batchCodeDetail)
  detail({ id }: In<typeof batchCodeDetail>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const generated = await reader.get(generatedCodes, { codeId: id }, 'discount_not_found');
      const template = await reader.get(discounts, { discountId: generated.templateId }, 'discount_not_found');
      const [child] = await shownCodes(reader, template, [generated]);
      if (!child) throw new Error(`generated code ${id} is not shown`);
      return { child };
    });
  }
}

/** The template whose codes are listed. Rejects `discount_not_found`. */
export const templateOf = (reader: Reader, { templateId }: In<typeof listBatchCodes>): Promise<Discount> =>
  reader.get(discounts, { discountId: templateId, kind: 'template' }, 'discount_not_found');

/** The conditions of discount/batch/children/list. */
export const codesWhere = ({ templateId, code, ...input }: In<typeof listBatchCodes>): Condition[] => [
  ['template_id = ?', templateId],
  ['code ilike ?', code === '' ? undefined : contains(code)],
  ['create_time >= ?', given(input.createTimeStart)],
  ['create_time <= ?', given(input.createTimeEnd)],
];

/** Codes of a template as the API shows them, and who used them. */
export async function shownCodes(
  reader: Reader,
  template: Discount,
  rows: readonly GeneratedCode[],
): Promise<MerchantBatchDiscountCode[]> {
  const used = rows.flatMap(({ useId }) => (useId === 0 ? [] : [useId]));
  const uses = await reader.among(userDiscounts, 'useId', used);
  const useOf = new Map(uses.map(use => [use.useId, use]));
  const [plans, users] = await Promise.all([
    plansById(
      reader,
      uses.map(({ planId }) => planId),
    ),
    usersById(reader, [...new Set(uses.map(({ userId }) => userId))]),
  ]);
  return rows.map(row => {
    const use = useOf.get(row.useId);
    const of = { use, plan: use && plans.get(use.planId)?.data, user: use && users.get(use.userId) };
    return generatedView(template, row, reader.now, of);
  });
}
