import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  activateDiscount,
  batchCodeDetail,
  batchTemplateDetail,
  cancelInvoice,
  createSubscription,
  deactivateDiscount,
  deleteDiscount,
  discountBillingType,
  discountPlanApplyType,
  discountStatus,
  discountType,
  editBatchTemplate,
  editDiscount,
  generateBatchCodes,
  incrementBatchQuantity,
  incrementDiscountQuantity,
  listBatchCodes,
  listBatchTemplates,
  listDiscounts,
  listUserDiscounts,
  newBatchTemplate,
  newDiscount,
  previewDiscount,
  previewNextInvoice,
  previewSubscription,
  subscriptionStatus,
} from '@recur/contracts';
import { type World, world } from '../world/subscriptions.js';

let w: World;
beforeAll(async () => {
  w = await world();
});
afterAll(() => w.t.close());

const tenth = {
  billingType: discountBillingType.onetime,
  discountType: discountType.percentage,
  discountPercentage: 1000,
  startTime: 0,
  endTime: 0,
};

/** An active template, and so many of its codes. */
async function campaign(codePrefix: string, codes: number, over: object = {}) {
  const { template } = await w.t.done(newBatchTemplate, { codePrefix, quantity: 100, ...tenth, ...over });
  await w.t.done(activateDiscount, { id: template.id });
  if (codes > 0) await w.t.done(generateBatchCodes, { templateId: template.id, quantity: codes });
  const { children } = await w.t.done(listBatchCodes, { templateId: template.id, count: 1000 });
  return { id: template.id, children, codes: children.map(({ code }) => code) };
}

const templateOf = async (id: number) => (await w.t.done(batchTemplateDetail, { id })).template;
const buy = (discountCode: string, over: object = {}) =>
  w.t.call(createSubscription, { planId: 10, userId: w.newUser(), discountCode, ...over });
const reasonOf = async (attempt: ReturnType<typeof buy>) => (await attempt) as { issues?: { message: string }[] };

describe('a template', () => {
  it('generates codes that cannot be guessed, each another one, up to its quantity', async () => {
    const { id, codes } = await campaign('SPRING-', 60);
    expect(new Set(codes).size).toBe(60);
    for (const code of codes) expect(code).toMatch(/^SPRING-[A-HJ-NP-Z2-9]{10}$/);
    const more = await w.t.done(generateBatchCodes, {
      templateCode: 'SPRING-',
      codeLength: 30,
      randomStyle: 'numeric',
    });
    expect(more).toEqual({
      templateId: id,
      templateCode: 'SPRING-',
      totalTarget: 100,
      existingCount: 60,
      generatedCount: 40,
      successCount: 40,
      failedCount: 0,
      isAsync: false,
    });
    const { children, total } = await w.t.done(listBatchCodes, { templateId: id, count: 50 });
    expect(total).toBe(100);
    expect(children.filter(({ code }) => /^SPRING-\d{23}$/.test(code))).toHaveLength(40);
    expect(await w.t.call(generateBatchCodes, { templateId: id, quantity: 1 })).toMatchObject({
      issues: [{ path: '/quantity', message: expect.stringContaining('0 codes that are left of 100') }],
    });
    expect(await w.t.done(generateBatchCodes, { templateId: id })).toMatchObject({ generatedCount: 0 });
    await w.t.done(incrementBatchQuantity, { id, amount: 5 });
    expect(await w.t.done(generateBatchCodes, { templateId: id })).toMatchObject({ generatedCount: 5 });
    expect(await templateOf(id)).toMatchObject({ quantity: 105, childCodeCount: 105, usedChildCodeCount: 0, type: 2 });
  });

  it('follows its prefix in letters and digits, and refuses what could be guessed', async () => {
    const styles = { '2026': /^2026\d{10}$/, 'may-': /^may-[a-km-np-z2-9]{10}$/, May: /^May[A-HJ-NP-Z2-9]{10}$/ };
    for (const [prefix, form] of Object.entries(styles)) {
      const { codes } = await campaign(prefix, 5);
      for (const code of codes) expect(code).toMatch(form);
    }
    const { id } = await campaign('SHORT', 0);
    const generate = (over: object) => w.t.call(generateBatchCodes, { templateId: id, quantity: 1, ...over });
    // 100 codes and a million guesses for each: 32^6 is more, 32^5 is not
    expect(await generate({ codeLength: 10 })).toMatchObject({
      issues: [{ path: '/codeLength', message: expect.stringContaining('at least 11') }],
    });
    expect(await generate({ codeLength: 11 })).toMatchObject({ ok: true });
    expect(await generate({ codeLength: 12, randomStyle: 'numeric' })).toMatchObject({
      issues: [{ path: '/codeLength' }],
    });
    expect(await generate({ codeLength: 13, randomStyle: 'numeric' })).toMatchObject({ ok: true });
  });

  it('is activated before it generates, and keeps its terms from then on', async () => {
    const { template } = await w.t.done(newBatchTemplate, { codePrefix: 'TERMS', quantity: 10, ...tenth });
    const { id } = template;
    const edit = (over: object) => w.t.call(editBatchTemplate, { id, ...over });
    expect(await w.t.call(generateBatchCodes, { templateId: id })).toMatchObject({ slug: 'discount_wrong_state' });
    expect(await w.t.call(incrementBatchQuantity, { id, amount: 1 })).toMatchObject({ slug: 'discount_wrong_state' });
    expect(await edit({ quantity: 5, discountPercentage: 2000 })).toMatchObject({ ok: true });
    await w.t.done(activateDiscount, { id });
    expect(await edit({ discountPercentage: 3000 })).toMatchObject({ slug: 'discount_frozen' });
    expect(await edit({ quantity: 4 })).toMatchObject({ issues: [{ path: '/quantity' }] });
    expect(await edit({ quantity: 6, name: 'Six', codePrefix: 'TERMS' })).toMatchObject({ ok: true });
    expect(await edit({ codePrefix: 'OTHER' })).toMatchObject({ issues: [{ path: '/codePrefix' }] });
    expect(await templateOf(id)).toMatchObject({ name: 'Six', quantity: 6, discountPercentage: 2000, code: 'TERMS' });
    for (const [operation, over] of [
      [editDiscount, { discountType: discountType.percentage, quantity: 1 }],
      [incrementDiscountQuantity, { amount: 1 }],
    ] as const) {
      expect(await w.t.call(operation, { id, ...over })).toMatchObject({ slug: 'discount_not_found' });
    }
    const taken = { codePrefix: 'TERMS', quantity: 1, ...tenth };
    expect(await w.t.call(newBatchTemplate, taken)).toMatchObject({ issues: [{ path: '/codePrefix' }] });
    for (const codePrefix of ['', 'has blank', 'x'.repeat(21)]) {
      expect(await w.t.call(newBatchTemplate, { ...taken, codePrefix })).toMatchObject({
        issues: [{ path: '/codePrefix' }],
      });
    }
    await w.t.done(deactivateDiscount, { id });
    expect(await w.t.call(generateBatchCodes, { templateId: id })).toMatchObject({ slug: 'discount_wrong_state' });
  });

  it('stands in the list of templates alone, which counts codes; each only for its merchant', async () => {
    const before = await w.t.done(listBatchTemplates, {});
    const { id, codes } = await campaign('LISTED', 4, { name: 'Partners' });
    await buy(String(codes[0]));
    const listed = await w.t.done(listBatchTemplates, { searchKey: 'partner', sortField: 'gmt_modify' });
    expect(listed).toMatchObject({
      templates: [
        { id, codePrefix: 'LISTED', childCodeCount: 4, usedChildCodeCount: 1, status: discountStatus.active },
      ],
      total: 1,
      activeTemplateCount: before.activeTemplateCount + 1,
      totalChildCodeCount: before.totalChildCodeCount + 4,
      usedChildCodeCount: before.usedChildCodeCount + 1,
    });
    expect(listed.usageRate).toBeCloseTo(listed.usedChildCodeCount / listed.totalChildCodeCount);
    expect((await w.t.done(listDiscounts, { searchKey: 'LISTED' })).total).toBe(0);
    const other = { merchantId: 9 };
    expect(await w.t.done(listBatchTemplates, {}, other)).toMatchObject({
      total: 0,
      totalChildCodeCount: 0,
      usageRate: 0,
    });
    const childId = (await w.t.done(listBatchCodes, { templateId: id })).children[0]?.id ?? 0;
    const of: [Parameters<typeof w.t.call>[0], object][] = [
      [batchTemplateDetail, { id }],
      [editBatchTemplate, { id, name: 'x' }],
      [incrementBatchQuantity, { id, amount: 1 }],
      [generateBatchCodes, { templateId: id }],
      [listBatchCodes, { templateId: id }],
      [batchCodeDetail, { id: childId }],
    ];
    for (const [operation, input] of of) {
      expect([operation.name, await w.t.call(operation, input, other)]).toMatchObject([
        operation.name,
        { slug: 'discount_not_found' },
      ]);
    }
  });
});

describe('a generated code', () => {
  it('is used once, by whoever is first of 24 at once, and shows by whom', async () => {
    const { id, children } = await campaign('ONCE', 2);
    const [child, spare] = children;
    const code = child?.code ?? '';
    const users = Array.from({ length: 24 }, () => w.newUser({ email: `once${Math.random()}@example.com` }));
    const bought = await Promise.all(users.map(userId => buy(code, { userId })));
    const paid = bought.flatMap((each, at) => (each.ok ? [{ ...each.data, userId: users[at] }] : []));
    expect(paid).toHaveLength(1);
    const [first] = paid;
    expect((await w.detail(first?.invoiceId ?? '')).discount).toMatchObject({ code, quantity: 1 });
    const { child: shown } = await w.t.done(batchCodeDetail, { id: child?.id });
    expect(shown).toMatchObject({
      code,
      codePrefix: 'ONCE',
      parentTemplateCode: 'ONCE',
      isRedeemed: true,
      redeemedAt: w.clock.now(),
      type: 3,
      invoiceId: first?.invoiceId,
      subscriptionId: first?.subscription.subscriptionId,
      planId: 10,
    });
    expect(shown.redeemedByEmail).toMatch(/^once.*@example\.com$/);
    expect((await w.t.done(batchCodeDetail, { id: spare?.id })).child).toMatchObject({
      isRedeemed: false,
      redeemedAt: 0,
    });
    expect(await templateOf(id)).toMatchObject({ usedChildCodeCount: 1 });
    const { userDiscounts } = await w.t.done(listUserDiscounts, { id, childCode: code });
    expect(userDiscounts).toMatchObject([{ code, user: { id: first?.userId } }]);
    const found = await w.t.done(listBatchCodes, { templateId: id, code: code.slice(3, 9).toLowerCase() });
    expect(found.children.map(one => one.code)).toEqual([code]);
  });

  it('comes back with an invoice that is cancelled', async () => {
    const { id, codes } = await campaign('BACK', 1);
    const code = String(codes[0]);
    const made = await buy(code);
    if (!made.ok) throw new Error(JSON.stringify(made));
    expect((await reasonOf(buy(code))).issues?.[0]?.message).toContain('used');
    await w.t.done(cancelInvoice, { invoiceId: made.data.invoiceId });
    expect(await templateOf(id)).toMatchObject({ usedChildCodeCount: 0, childCodeCount: 1 });
    expect(await buy(code)).toMatchObject({ ok: true });
  });

  it('has the limits of its template: users, plans, times, and its end', async () => {
    const { id, codes } = await campaign('LIMITS', 6, {
      userLimit: 1,
      planApplyType: discountPlanApplyType.listed,
      planIds: [10],
    });
    const userId = w.newUser();
    const { subscription } = await w.create({ userId, discountCode: String(codes[0]) });
    expect(subscription.status).toBe(subscriptionStatus.pending);
    const judged = (code: unknown, over: object = {}) =>
      w.t.done(previewDiscount, { code: String(code), planId: 10, userId, ...over });
    expect(await judged(codes[1])).toMatchObject({ valid: false, discount: { code: codes[1] } });
    expect(await judged(codes[1], { userId: w.newUser() })).toMatchObject({ valid: true, discountMessage: '' });
    expect(await judged(codes[1], { userId: w.newUser(), planId: 11 })).toMatchObject({ valid: false });
    expect(await judged('LIMITS')).toMatchObject({ valid: false, discount: null });
    await w.t.done(deleteDiscount, { id });
    expect(await judged(codes[1], { userId: w.newUser() })).toMatchObject({
      valid: false,
      discountMessage: `There is no discount code ${codes[1]}`,
    });
  });

  it('of a recurring discount reduces every invoice of its subscription under its own name', async () => {
    const { codes } = await campaign('YEARS', 1, { billingType: discountBillingType.recurring, cycleLimit: 3 });
    const discountCode = String(codes[0]);
    const { invoice } = await w.t.done(previewSubscription, { planId: 10, userId: w.newUser(), discountCode });
    expect(invoice).toMatchObject({ totalAmount: 2700, discount: { code: discountCode } });
    const { subscriptionId } = await w.active({ discountCode });
    const next = await w.t.done(previewNextInvoice, { subscriptionId });
    expect(next.invoice).toMatchObject({ totalAmount: 2700, discountCode, discount: { code: discountCode } });
  });

  it('keeps its name from other codes, and they theirs from it', async () => {
    const { codes } = await campaign('NAMES', 1);
    const code = String(codes[0]);
    expect(await w.t.call(newDiscount, { code, ...tenth })).toMatchObject({ issues: [{ path: '/code' }] });
    expect(await w.t.call(newDiscount, { code: 'NAMES', ...tenth })).toMatchObject({ issues: [{ path: '/code' }] });
  });
});
