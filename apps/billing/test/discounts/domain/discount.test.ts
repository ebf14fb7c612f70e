import { describe, expect, it } from '@jest/globals';
import { discountPlanApplyType, discountStatus, planType } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import {
  activateDiscount,
  type Discount,
  type DiscountedPlan,
  type DiscountSettings,
  deactivateDiscount,
  defaultSettings,
  discountLifecycle,
  discountRule,
  editDiscount,
  groupsOf,
  incrementQuantity,
  newDiscount,
  removeDiscount,
  statusAt,
} from '../../../src/discounts/domain/discount.js';
import { fitsPlan } from '../../../src/pricing/discount.js';

const identity = { merchantId: 15, discountId: 1, code: 'MAY', kind: 'code', subscriptionId: '' } as const;
const percentage: DiscountSettings = { ...defaultSettings, percentage: 1000, startTime: 100, endTime: 200 };
const made = (over: Partial<DiscountSettings> = {}) => newDiscount(identity, { ...percentage, ...over }, 50);
const active = (over: Partial<DiscountSettings> = {}) => activateDiscount(made(over), 150);

/** The refusal's slug, or the paths of its issues. */
function refusal(run: () => unknown): string | string[] {
  try {
    run();
  } catch (error) {
    if (error instanceof Rejected) return error.issues.length > 0 ? error.issues.map(({ path }) => path) : error.slug;
  }
  throw new Error('not refused');
}

describe('the lifecycle of a discount', () => {
  it('has the states of the API', () => {
    expect([...discountLifecycle.states].sort()).toEqual(Object.keys(discountStatus).sort());
  });

  it('starts editable, and active where it is bound to a subscription', () => {
    expect(made()).toMatchObject({ status: 'editable', uses: 0, createTime: 50 });
    expect(newDiscount({ ...identity, subscriptionId: 'sub_1' }, percentage, 50).status).toBe('active');
  });

  it('expires at its endTime, without a write, and is active again with a later one', () => {
    expect([199, 200].map(now => statusAt(active(), now))).toEqual(['active', 'expired']);
    expect(statusAt(active({ endTime: 0 }), 1e9)).toBe('active');
    expect(statusAt(made(), 1e9)).toBe('editable');
    expect(statusAt(editDiscount(active(), { endTime: 300 }), 200)).toBe('active');
  });

  const inState: Record<keyof typeof discountStatus, Discount> = {
    editable: made(),
    active: active({ endTime: 0 }),
    deactivated: deactivateDiscount(active({ endTime: 0 }), 150),
    expired: active(),
    archived: removeDiscount(active({ endTime: 0 }), 150),
  };
  const refused = 'discount_wrong_state';
  it.each([
    ['editable', 'active', refused, 'archived'],
    ['active', 'active', 'deactivated', 'archived'],
    ['deactivated', 'active', 'deactivated', 'archived'],
    ['expired', refused, refused, 'archived'],
    ['archived', refused, refused, refused],
  ] as const)('%s: activate %s, deactivate %s, delete %s', (state, ...outcomes) => {
    const moves = [activateDiscount, deactivateDiscount, removeDiscount];
    const after = moves.map(move => {
      try {
        return move(inState[state], 1_000).status;
      } catch (error) {
        return (error as Rejected).slug;
      }
    });
    expect(after).toEqual(outcomes);
  });

  it('names state and move where it refuses', () => {
    expect(() => activateDiscount(inState.expired, 1_000)).toThrow('Discount 1 is expired: cannot activate it');
  });
});

describe('the settings', () => {
  const fixed = { discountType: 'fixedAmount', percentage: 0, amount: 500n, currency: 'EUR' } as const;
  it.each<[string, Partial<DiscountSettings>, string[]]>([
    ['a percentage without one', { percentage: 0 }, ['/discountPercentage']],
    ['an amount beside a percentage', { amount: 1n }, ['/discountAmount']],
    [
      'a fixed amount without amount and currency',
      { ...fixed, amount: 0n, currency: '' },
      ['/discountAmount', '/currency'],
    ],
    ['a percentage beside a fixed amount', { ...fixed, percentage: 1 }, ['/discountPercentage']],
    ['cycles of a one-time discount', { cycleLimit: 2 }, ['/cycleLimit']],
    ['an end before the start', { endTime: 100 }, ['/endTime']],
    ['listed plans without a list', { planApply: 'listed' }, ['/planIds']],
    ['groups without a group', { planApply: 'allButGroups' }, ['/planApplyGroup']],
    [
      'an empty group',
      { planApply: 'groups', planGroup: { currency: [], groupPlanIntervalSelector: [], type: [] } },
      ['/planApplyGroup'],
    ],
  ])('refuse %s', (_, over, paths) => {
    expect(refusal(() => made(over))).toEqual(paths);
  });

  it('are free until the activation; then size, currency, billing type and cycles are frozen', () => {
    expect(editDiscount(made(), { ...fixed, billingType: 'recurring', cycleLimit: 3 })).toMatchObject({ amount: 500n });
    for (const over of [{ percentage: 5 }, { billingType: 'recurring' } as const, fixed]) {
      expect(refusal(() => editDiscount(active(), over))).toBe('discount_frozen');
    }
    expect(() => editDiscount(active(), fixed)).toThrow(
      'Discount 1 has been activated: cannot change discountType, amount, percentage, currency',
    );
    const free = { name: 'X', endTime: 900, quantity: 5, userLimit: 1, upgradeOnly: true, percentage: 1000 };
    expect(editDiscount(active(), free)).toMatchObject(free);
  });

  it('quantity goes up where there is one', () => {
    expect(incrementQuantity(made({ quantity: 5 }), 3).quantity).toBe(8);
    expect(refusal(() => incrementQuantity(made(), 3))).toBe('discount_unlimited');
    expect(refusal(() => incrementQuantity(made({ quantity: 1_000_000_000 }), 1))).toEqual(['/amount']);
  });
});

describe('plans', () => {
  const plan: DiscountedPlan = { id: 7, type: planType.main, currency: 'EUR', intervalUnit: 'month', intervalCount: 3 };
  const quarter = { intervalUnit: 'month', intervalCount: 3 };
  const group = (over: object) => ({ currency: [], groupPlanIntervalSelector: [], type: [], ...over });
  const fits = (over: Partial<DiscountSettings>, of = plan) => {
    const discount = made(over);
    return fitsPlan(discountRule(discount), of.id, groupsOf(discount, of));
  };

  it.each<[string, boolean, Partial<DiscountSettings>]>([
    ['all', true, {}],
    ['listed', true, { planApply: 'listed', planIds: [7] }],
    ['not listed', false, { planApply: 'listed', planIds: [8] }],
    ['all but listed', false, { planApply: 'allButListed', planIds: [7] }],
    ['all but others', true, { planApply: 'allButListed', planIds: [8] }],
    ['of a currency', true, { planApply: 'groups', planGroup: group({ currency: ['USD', 'EUR'] }) }],
    ['of another currency', false, { planApply: 'groups', planGroup: group({ currency: ['USD'] }) }],
    ['of an interval', true, { planApply: 'groups', planGroup: group({ groupPlanIntervalSelector: [quarter] }) }],
    [
      'of another interval',
      false,
      { planApply: 'groups', planGroup: group({ groupPlanIntervalSelector: [{ ...quarter, intervalCount: 1 }] }) },
    ],
    ['of a type', true, { planApply: 'groups', planGroup: group({ type: [1] }) }],
    [
      'of a type, of another currency',
      false,
      { planApply: 'groups', planGroup: group({ type: [1], currency: ['USD'] }) },
    ],
    ['but those of a type', false, { planApply: 'allButGroups', planGroup: group({ type: [1] }) }],
    ['but those of another type', true, { planApply: 'allButGroups', planGroup: group({ type: [2] }) }],
  ])('%s: %s', (_, expected, over) => {
    expect(fits(over)).toBe(expected);
  });

  it('has a way to apply for each code of the API', () => {
    const ways: Record<DiscountSettings['planApply'], number> = discountPlanApplyType;
    expect(Object.keys(ways)).toHaveLength(5);
  });
});
