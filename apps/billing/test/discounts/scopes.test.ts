import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  activateDiscount,
  deactivateDiscount,
  deleteDiscount,
  discountBillingType,
  discountPlanApplyType,
  discountType,
  discountUserScope,
  editDiscount,
  planType,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { MovableClock, type TestService, testService } from '@recur/platform/testing';
import * as discounts from '../../src/discounts/redemption.js';
import { billing } from '../../src/service.js';
import { activeCode } from '../world/shop.js';

const clock = new MovableClock();
let t: TestService;
beforeAll(async () => {
  t = await testService(billing, { clock });
});
afterAll(() => t.close());

const plan = { id: 7, type: planType.main, currency: 'EUR', intervalUnit: 'month', intervalCount: 1 };
const yearly = { ...plan, id: 8, intervalUnit: 'year' };
const group = {
  currency: ['EUR'],
  groupPlanIntervalSelector: [{ intervalUnit: 'month', intervalCount: 1 }],
  type: [1],
};

let codes = 0;
/** An active code with the given settings. */
const made = (settings: Parameters<typeof activeCode>[2]) => activeCode(t, `SCOPE${++codes}`, settings);

/** The reason why a code may not be used, the same for a submit as for a preview; '' if it may. */
async function judged(code: string, over: Partial<discounts.RedemptionRequest> = {}): Promise<string> {
  const submit: discounts.RedemptionRequest = {
    code,
    userId: 1,
    plan,
    currency: 'EUR',
    moment: clock.now(),
    operation: 'create',
    paidInvoices: 0,
    ...over,
  };
  const [checked] = await told(async () => {
    const problems: string[] = [];
    await t.db.read(t.callerOf(), async reader => {
      const answer = await discounts.check(reader, submit);
      problems.push('problem' in answer ? answer.message : '');
      return {};
    });
    return problems[0] ?? '';
  });
  const [reserved, rejection] = await told(async () => {
    await t.db.write(t.callerOf(), async tx => {
      await discounts.reserve(tx, { ...submit, invoiceId: tx.newId('in_') });
      tx.log('Test()', 'Try');
      return {};
    });
    return '';
  });
  expect(reserved ?? rejection).toBe(checked);
  return (checked ?? '').replace(`Discount code ${code} `, '');
}

async function told(run: () => Promise<string>): Promise<[string | undefined, string | undefined]> {
  try {
    return [await run(), undefined];
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    return [undefined, error.issues[0]?.message];
  }
}

const other = 'does not apply to plan';
/** Settings of a code, and the refusals of it for the submits that are made with it, one after the other. */
const scopes: [name: string, settings: object, submits: [Partial<discounts.RedemptionRequest>, refusal: string][]][] = [
  [
    'userScope 0: all',
    {},
    [
      [{}, ''],
      [{ paidInvoices: 9 }, ''],
    ],
  ],
  [
    'userScope 1: no paid subscription invoice before',
    { userScope: discountUserScope.newUsers },
    [
      [{}, ''],
      [{ paidInvoices: 1 }, 'is for new customers only'],
    ],
  ],
  [
    'userScope 2: at least one',
    { userScope: discountUserScope.renewalsOnly },
    [
      [{}, 'is for existing customers only'],
      [{ paidInvoices: 1, operation: 'renew' }, ''],
    ],
  ],
  ['planApplyType 0: all plans', {}, [[{ plan: yearly }, '']]],
  [
    'planApplyType 1: the listed',
    { planApplyType: discountPlanApplyType.listed, planIds: [7] },
    [
      [{}, ''],
      [{ plan: yearly }, `${other} 8`],
    ],
  ],
  [
    'planApplyType 2: all but them',
    { planApplyType: discountPlanApplyType.allButListed, planIds: [7] },
    [
      [{}, `${other} 7`],
      [{ plan: yearly }, ''],
    ],
  ],
  [
    'planApplyType 3: the group',
    { planApplyType: discountPlanApplyType.groups, planApplyGroup: group },
    [
      [{}, ''],
      [{ plan: yearly }, `${other} 8`],
    ],
  ],
  [
    'planApplyType 4: all but it',
    { planApplyType: discountPlanApplyType.allButGroups, planApplyGroup: group },
    [
      [{}, `${other} 7`],
      [{ plan: yearly }, ''],
    ],
  ],
  [
    'upgradeOnly',
    { upgradeOnly: true },
    [
      [{}, 'is for upgrades only'],
      [{ operation: 'otherUpdate' }, 'is for upgrades only'],
      [{ operation: 'upgrade' }, ''],
      [{ operation: 'longerUpgrade' }, ''],
    ],
  ],
  [
    'upgradeLongPlanOnly',
    { upgradeLongPlanOnly: true },
    [
      [{}, 'is for upgrades to a longer interval only'],
      [{ operation: 'upgrade' }, 'is for upgrades to a longer interval only'],
      [{ operation: 'longerUpgrade' }, ''],
    ],
  ],
  [
    'userLimit 1',
    { userLimit: 1 },
    [
      [{}, ''],
      [{}, 'was used once'],
      [{ userId: 2 }, ''],
    ],
  ],
  [
    'userLimit 0: no limit',
    { userLimit: 0 },
    [
      [{}, ''],
      [{}, ''],
    ],
  ],
  [
    'quantity 2',
    { quantity: 2 },
    [
      [{}, ''],
      [{ userId: 2 }, ''],
      [{ userId: 3 }, 'is used up'],
    ],
  ],
  [
    'quantity 0: no limit',
    { quantity: 0 },
    [
      [{}, ''],
      [{}, ''],
      [{}, ''],
    ],
  ],
  [
    'startTime and endTime, from the first to before the last',
    { startTime: 1000, endTime: 2000 },
    [
      [{ moment: 999 }, 'is not valid yet'],
      [{ moment: 1000 }, ''],
      [{ moment: 1999 }, ''],
      [{ moment: 2000 }, 'has expired'],
    ],
  ],
  [
    'a fixed amount in its own currency',
    { discountType: discountType.fixedAmount, discountPercentage: 0, discountAmount: 500, currency: 'EUR' },
    [
      [{}, ''],
      [{ currency: 'USD' }, 'is in EUR, not in USD'],
    ],
  ],
  ['a percentage in any currency', {}, [[{ currency: 'USD' }, '']]],
];

describe('a code is used, and previewed, within its scope', () => {
  it.each(scopes)('%s', async (_, settings, submits) => {
    const { code } = await made(settings);
    for (const [submit, refusal] of submits) expect([submit, await judged(code, submit)]).toEqual([submit, refusal]);
  });

  it('and its lifecycle: not before it is activated, nor after it was deactivated or deleted', async () => {
    const { code, id } = await made({});
    expect(await judged(code)).toBe('');
    await t.done(deactivateDiscount, { id });
    expect(await judged(code)).toBe('is not active');
    await t.done(activateDiscount, { id });
    await t.done(editDiscount, {
      id,
      discountType: discountType.percentage,
      userScope: discountUserScope.renewalsOnly,
    });
    expect(await judged(code)).toBe('is for existing customers only');
    await t.done(deleteDiscount, { id });
    expect(await judged(code)).toBe(`There is no discount code ${code}`);
  });
});

describe('cycleLimit', () => {
  const lives = { discountId: 0, subscriptionId: '' };
  const granted = async (of: typeof lives): Promise<boolean> => {
    const answers: boolean[] = [];
    await t.db.read(t.callerOf(), async reader => {
      answers.push((await discounts.nextCycle(reader, of)) !== undefined);
      return {};
    });
    return answers[0] ?? false;
  };

  it.each([
    [0, [true, true, true, true]],
    [1, [false, false, false, false]],
    [3, [true, true, false, false]],
  ])('%i: the cycles after the first invoice that it still reduces', async (cycleLimit, expected) => {
    const { code, id } = await made({ billingType: discountBillingType.recurring, cycleLimit });
    const of = { discountId: id, subscriptionId: `sub_${id}` };
    const use = { userId: 1, planId: 7, currency: 'EUR' };
    await t.db.write(t.callerOf(), async tx => {
      const submit = { code, plan, moment: tx.now, operation: 'create', paidInvoices: 0 } as const;
      await discounts.reserve(tx, { ...submit, ...use, ...of, invoiceId: `in_${id}_0` });
      tx.log('Test()', 'Try');
      return {};
    });
    const given: boolean[] = [];
    for (const cycle of expected.keys()) {
      const applies = await granted(of);
      given.push(applies);
      if (!applies) continue;
      await t.db.write(t.callerOf(), async tx => {
        await discounts.useCycle(tx, { ...use, ...of, invoiceId: `in_${id}_${cycle + 1}` });
        tx.log('Test()', 'Try');
        return {};
      });
    }
    expect(given).toEqual(expected);
    // an invoice that failed or was cancelled gives its cycle back
    await t.db.write(t.callerOf(), async tx => {
      await discounts.releaseDiscount(tx, { invoiceId: `in_${id}_0` });
      tx.log('Test()', 'Try');
      return {};
    });
    expect(await granted(of)).toBe(true);
  });
});
