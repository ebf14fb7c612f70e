import { describe, expect, it } from '@jest/globals';
import { Rejected } from '@recur/kernel';
import fc from 'fast-check';
import {
  activate,
  checkActivatable,
  type IntervalUnit,
  type MetricCharge,
  type Plan,
  planLifecycle,
  publishLifecycle,
  type Tier,
} from '../../src/domain/plan.js';

const editing: Plan = {
  id: 4,
  merchantId: 15,
  version: 1,
  status: 'editing',
  publishStatus: 'unpublished',
  type: 'main',
  productId: 0,
  planName: 'Basic',
  internalName: '',
  description: '',
  externalPlanId: '',
  currency: 'USD',
  amount: 999n,
  compareAtAmount: 0n,
  intervalUnit: 'month',
  intervalCount: 1,
  trialAmount: 0n,
  trialDurationSeconds: 0,
  trialDemand: '',
  cancelAtTrialEnd: false,
  disableAutoCharge: false,
  gasPayer: 'user',
  homeUrl: '',
  imageUrl: '',
  checkoutTemplateId: 0,
  autoUpgradePlanId: 0,
  addonIds: [],
  onetimeAddonIds: [],
  createTime: 1000,
  modifyTime: 1000,
  metadata: {},
  metricLimits: [],
  metricMeteredCharge: [],
  metricRecurringCharge: [],
  multiCurrencies: [],
  multiTrials: [],
  usVatConfig: null,
};

const tier = (endValue: number): Tier => ({ startValue: 0, endValue, perAmount: 10, flatAmount: 0 });
const charge = (chargeType: number, tiers: Tier[]): MetricCharge => ({
  metricId: 1,
  chargeType,
  standardAmount: 5,
  standardStartValue: 0,
  graduatedAmounts: tiers,
});

describe('activating a plan', () => {
  it('makes it active, once', () => {
    const active = activate(editing, 2000);
    expect(active).toEqual({ ...editing, status: 'active', modifyTime: 2000 });
    expect(active && activate(active, 3000)).toBeUndefined();
  });

  it('is refused from no state but hard-archived', () => {
    for (const status of planLifecycle.states) {
      const outcome = attempt(() => activate({ ...editing, status }, 2000));
      if (status === 'active') expect(outcome).toBeUndefined();
      else if (status !== 'hardArchived') expect(outcome).toMatchObject({ status: 'active' });
      else {
        const message = 'Plan 4 is hardArchived: cannot activate it';
        expect(outcome).toMatchObject({ slug: 'plan_not_activatable', message });
      }
    }
  });

  it.each<[IntervalUnit, number]>([
    ['day', 365],
    ['week', 52],
    ['month', 12],
    ['year', 1],
  ])('takes an interval of 1 %s to %d', (intervalUnit, most) => {
    fc.assert(
      fc.property(fc.oneof(fc.integer({ min: -2, max: 400 }), fc.constantFrom(0, 1, most, most + 1, 1.5)), count => {
        const outcome = attempt(() => checkActivatable({ ...editing, intervalUnit, intervalCount: count }));
        if (Number.isInteger(count) && count >= 1 && count <= most) expect(outcome).toBeUndefined();
        else expect(outcome).toMatchObject({ slug: 'plan_not_activatable', issues: [{ path: '/intervalCount' }] });
      }),
    );
  });

  it('needs a unit that there is', () => {
    for (const unit of ['', 'fortnight', 'constructor']) {
      const plan = { ...editing, intervalUnit: unit as IntervalUnit };
      expect(attempt(() => activate(plan, 1))).toMatchObject({ issues: [{ path: '/intervalUnit' }] });
    }
  });

  it('needs no interval for a one-time add-on, as it does for a recurring one', () => {
    const bare: Plan = { ...editing, intervalUnit: '', intervalCount: 0 };
    expect(activate({ ...bare, type: 'onetimeAddon' }, 1)).toMatchObject({ status: 'active' });
    expect(attempt(() => activate({ ...bare, type: 'recurringAddon' }, 1))).toBeInstanceOf(Rejected);
  });

  it('needs an open last tier where the price is graduated, and names every price that has none', () => {
    const outcome = attempt(() =>
      activate(
        {
          ...editing,
          intervalCount: 0,
          metricMeteredCharge: [
            charge(1, [tier(100), tier(-1)]),
            charge(0, []),
            charge(1, [tier(-1), tier(100)]),
            charge(1, []),
          ],
          metricRecurringCharge: [charge(1, [tier(100)])],
        },
        1,
      ),
    );
    expect(outcome).toMatchObject({ slug: 'plan_not_activatable' });
    expect((outcome as Rejected).message).toMatch(/^Plan 4 is editing: cannot activate it /);
    expect((outcome as Rejected).issues.map(issue => issue.path)).toEqual([
      '/intervalCount',
      '/metricMeteredCharge/2/graduatedAmounts',
      '/metricMeteredCharge/3/graduatedAmounts',
      '/metricRecurringCharge/0/graduatedAmounts',
    ]);
  });
});

describe('the lifecycles', () => {
  it('allow these moves and no other', () => {
    const legal = (machine: { states: string[]; moves: string[]; next(s: never, m: never): string | undefined }) =>
      machine.states.flatMap(state =>
        machine.moves.flatMap(move => {
          const next = machine.next(state as never, move as never);
          return next ? [`${state} ${move} ${next}`] : [];
        }),
      );
    expect(legal(planLifecycle)).toEqual([
      'editing activate active',
      'active archive softArchived',
      'active archiveHard hardArchived',
      'softArchived activate active',
      'softArchived archiveHard hardArchived',
    ]);
    expect(legal(publishLifecycle)).toEqual(['unpublished publish published', 'published unpublish unpublished']);
  });
});

function attempt(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    if (error instanceof Rejected) return error;
    throw error;
  }
}
