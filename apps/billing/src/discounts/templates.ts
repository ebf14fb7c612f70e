import { randomInt } from 'node:crypto';
import { Controller } from '@nestjs/common';
import {
  batchCodeDetail,
  batchLimits,
  batchTemplateDetail,
  editBatchTemplate,
  generateBatchCodes,
  type In,
  incrementBatchQuantity,
  listBatchCodes,
  listBatchTemplates,
  type MerchantBatchDiscountCode,
  newBatchTemplate,
} from '@recur/contracts';
import { invalid } from '@recur/kernel';
import {
  type Caller,
  type Condition,
  contains,
  Db,
  given,
  Handle,
  type Reader,
  sorted,
  type Tx,
} from '@recur/platform';
import { plansById } from '../customers/catalog.js';
import { usersById } from '../customers/users.js';
import type { Discount } from './domain/discount.js';
import * as domain from './domain/discount.js';
import { alphabetOf, editTemplate, raiseQuantity, randomLength, toGenerate } from './domain/generated.js';
import { conditionsOf, statusNow } from './lists.js';
import { discounts, type GeneratedCode, generatedCodes, userDiscounts } from './tables.js';
import { discountSettings, discountTemplateView, generatedView } from './views.js';

const kind = 'template';

/** Templates of discounts, and the codes for a single use each that are generated from them. */
@Controller()
export class DiscountTemplates {
  constructor(private readonly db: Db) {}

  @Handle(newBatchTemplate)
  create({ codePrefix: code, ...input }: In<typeof newBatchTemplate>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const discountId = await tx.nextId(discounts);
      const identity = { merchantId: tx.merchantId, discountId, code, kind, subscriptionId: '' } as const;
      const template = domain.newDiscount(identity, { ...domain.defaultSettings, ...discountSettings(input) }, tx.now);
      tx.onConflict('discounts_code', () => invalid('/codePrefix', 'is the prefix or the code of another discount'));
      return saveTemplate(tx, template, 'NewTemplate');
    });
  }

  @Handle(editBatchTemplate)
  edit({ id, codePrefix, ...input }: In<typeof editBatchTemplate>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const template = await tx.lock(discounts, { discountId: id, kind, deletedTime: 0 }, 'discount_not_found');
      return saveTemplate(tx, editTemplate(template, codePrefix, discountSettings(input)), 'EditTemplate');
    });
  }

  @Handle(incrementBatchQuantity)
  increment({ id, amount }: In<typeof incrementBatchQuantity>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const template = await tx.lock(discounts, { discountId: id, kind, deletedTime: 0 }, 'discount_not_found');
      return saveTemplate(tx, raiseQuantity(template, amount, batchLimits.codes), 'IncrementQuantity');
    });
  }

  @Handle(batchTemplateDetail)
  detail({ id }: In<typeof batchTemplateDetail>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const template = await reader.get(discounts, { discountId: id, kind, deletedTime: 0 }, 'discount_not_found');
      return { template: discountTemplateView(template, reader.now) };
    });
  }

  @Handle(listBatchTemplates)
  list(input: In<typeof listBatchTemplates>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const [{ rows, total }, counts] = await Promise.all([
        reader.page({
          from: discounts,
          where: templateConditions(input, reader.now),
          order: sorted({ createTime: 'create_time', modifyTime: 'modify_time' }, input, 'discount_id'),
          page: input.page,
          count: input.count,
        }),
        countsOf(reader),
      ]);
      return { templates: rows.map(row => discountTemplateView(row, reader.now)), total, ...counts };
    });
  }

  @Handle(generateBatchCodes)
  generate(input: In<typeof generateBatchCodes>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const { templateId, templateCode, quantity, codeLength, randomStyle } = input;
      const named = { ...(templateId && { discountId: templateId }), ...(templateCode && { code: templateCode }) };
      const template = await tx.lock(discounts, { ...named, kind, deletedTime: 0 }, 'discount_not_found');
      const count = toGenerate(template, quantity, batchLimits.atOnce, tx.now);
      const alphabet = alphabetOf(randomStyle, template.code);
      const length = randomLength(template, alphabet, codeLength);
      await addCodes(tx, template, count, () => template.code + randomText(alphabet, length));
      if (count > 0) saveTemplate(tx, { ...template, generated: template.generated + count }, `Generate(${count})`);
      return {
        templateId: template.discountId,
        templateCode: template.code,
        totalTarget: template.quantity,
        existingCount: template.generated,
        generatedCount: count,
        successCount: count,
        failedCount: 0,
        isAsync: false,
      };
    });
  }
}

function saveTemplate(tx: Tx, template: domain.Discount, content: string) {
  const { discountId, code } = template;
  tx.save(discounts, { ...template, modifyTime: tx.now });
  tx.log(`Discount(${discountId}-${code})`, content, { discountCode: code });
  return { template: discountTemplateView(template, tx.now) };
}

const addText = `insert into generated_codes (merchant_id, code_id, template_id, code, use_id, create_time)
  select $1, nextval('generated_codes_id_seq'), $2, made.code, 0, $3 from unnest($4::text[]) made(code)
  where not exists (select 1 from discounts where merchant_id = $1 and code = made.code and deleted_time = 0)
  on conflict do nothing returning 1`;

/** Adds so many codes; those that exist already are made again. */
async function addCodes(tx: Tx, { discountId }: domain.Discount, count: number, code: () => string): Promise<void> {
  for (let missing = count; missing > 0; ) {
    const made = Array.from({ length: missing }, code);
    missing -= (await tx.query(addText, [tx.merchantId, discountId, tx.now, made])).length;
  }
}

const randomText = (alphabet: string, length: number) =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');

const templateConditions = (
  { codePrefix: code, ...input }: In<typeof listBatchTemplates>,
  now: number,
): Condition[] => [['kind = ?', kind], ...conditionsOf({ ...input, code }, now)];

async function countsOf(reader: Reader) {
  const text = `select count(*) filter (where ${statusNow(reader.now)} = 'active') as active,
      coalesce(sum(generated), 0) as codes, coalesce(sum(uses), 0) as used
    from discounts where merchant_id = $1 and kind = 'template' and deleted_time = 0`;
  const [row] = await reader.query(text, [reader.merchantId]);
  const [totalChildCodeCount, usedChildCodeCount] = [Number(row?.codes), Number(row?.used)];
  const usageRate = totalChildCodeCount === 0 ? 0 : usedChildCodeCount / totalChildCodeCount;
  return { activeTemplateCount: Number(row?.active), totalChildCodeCount, usedChildCodeCount, usageRate };
}

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
