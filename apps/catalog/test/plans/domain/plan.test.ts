import { describe, expect, it } from '@jest/globals';
import { Rejected } from '@recur/kernel';
import fc from 'fast-check';
import {
  activate,
  archive,
  checkActivatable,
  edit,
  type IntervalUnit,
  type MetricCharge,
  type Plan,
  planLifecycle,
  publish,
  publishLifecycle,
  remove,
  type Tier,
  unpublish,
} from '../../../src/plans/domain/plan.js';

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
  deletedTime: 0,
  metadata: {},
  metricLimits: [],
  metricMeteredCharge: [],
  metricRecurringCharge: [],
  multiCurrencies: [],
  multiTrials: [],
  autoChargeConfig: null,
  usVatConfig: null,
  priceChange: null,
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

describe('the tiers of a graduated price', () => {
  const outcome = (...ends: number[]) =>
    attempt(() => checkActivatable({ ...editing, metricMeteredCharge: [charge(1, ends.map(tier))] }));

  it('end one after the other, the last one alone being open', () => {
    for (const ends of [[-1], [0, -1], [10, 11, -1]]) expect(outcome(...ends)).toBeUndefined();
    for (const ends of [
      [-1, -1],
      [10, 10, -1],
      [20, 10, -1],
      [10, -1, -1],
    ]) {
      expect(outcome(...ends)).toMatchObject({
        slug: 'plan_not_activatable',
        issues: [
          {
            path: '/metricMeteredCharge/0/graduatedAmounts',
            message: 'each tier of a graduated price must end after the one before it',
          },
        ],
      });
    }
  });
});

/** Every choice of a value for each field, or of none. */
function choices<P extends object>(values: { [F in keyof P]: readonly P[F][] }): Partial<P>[] {
  const fields = Object.keys(values) as (keyof P)[];
  return fields.reduce<Partial<P>[]>(
    (all, field) => all.flatMap(one => [one, ...values[field].map(value => ({ ...one, [field]: value }))]),
    [{}],
  );
}

describe('editing a plan', () => {
  const frozen = ['amount', 'currency', 'intervalUnit', 'intervalCount'] as const;
  const every = choices<Pick<Plan, (typeof frozen)[number] | 'planName'>>({
    amount: [999n, 0n, 1000n],
    currency: ['USD', 'EUR'],
    intervalUnit: ['month', 'day', 'week', 'year', ''],
    intervalCount: [1, 0, 2, 13, 366],
    planName: ['Basic', 'Pro'],
  });

  it('that was activated never changes price, currency or interval, whatever is asked and in whatever state', () => {
    expect(every).toHaveLength(4 * 3 * 6 * 6 * 3);
    for (const status of ['active', 'softArchived'] as const) {
      const plan = { ...editing, status };
      for (const asked of every) {
        const changes = frozen.filter(field => field in asked && asked[field] !== plan[field]);
        const outcome = attempt(() => edit(plan, asked, 2000));
        const message = `Plan 4 is ${status}: cannot edit its ${changes.join(', ')}`;
        if (changes.length > 0) expect(outcome).toMatchObject({ slug: 'plan_frozen', message });
        else if (asked.planName === 'Pro') expect(outcome).toEqual({ ...plan, planName: 'Pro', modifyTime: 2000 });
        else expect(outcome).toBeUndefined();
      }
    }
  });

  it('is as it is asked for, where the unit takes so large a count', () => {
    const most = { day: 365, week: 52, month: 12, year: 1, '': Number.POSITIVE_INFINITY };
    for (const asked of every) {
      const whole = { ...editing, ...asked };
      const outcome = attempt(() => edit(editing, asked, 2000));
      if (whole.intervalCount > most[whole.intervalUnit]) {
        expect(outcome).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/intervalCount' }] });
      } else if (Object.entries(asked).every(([field, value]) => editing[field as keyof Plan] === value)) {
        expect(outcome).toBeUndefined();
      } else expect(outcome).toEqual({ ...whole, modifyTime: 2000 });
    }
  });

  it('that is archived for good changes nothing, and says so even of nothing', () => {
    for (const asked of every) {
      const outcome = attempt(() => edit({ ...editing, status: 'hardArchived' }, asked, 2000));
      expect(outcome).toMatchObject({ slug: 'plan_frozen', message: expect.stringContaining('4 is hardArchived') });
    }
  });

  it('sees what documents say, not the order of their members', () => {
    const plan: Plan = { ...editing, metadata: { a: [1, { b: null, c: 2 }], d: {} } };
    expect(edit(plan, { metadata: { d: {}, a: [1, { c: 2, b: null }] } }, 2000)).toBeUndefined();
    for (const metadata of [
      { a: [1, { b: null, c: 2 }] },
      { ...plan.metadata, d: [] },
      { ...plan.metadata, d: null },
    ]) {
      expect(edit(plan, { metadata }, 2000)).toEqual({ ...plan, metadata, modifyTime: 2000 });
    }
  });
});

describe('publishing a plan', () => {
  it('needs one that is active, and is done once; it is undone in every state', () => {
    for (const status of planLifecycle.states) {
      const hidden: Plan = { ...editing, status };
      const shown: Plan = { ...hidden, publishStatus: 'published' };
      const outcome = attempt(() => publish(hidden, 2000));
      const message = `Plan 4 is ${status}: cannot publish it`;
      if (status === 'active') expect(outcome).toEqual({ ...shown, modifyTime: 2000 });
      else expect(outcome).toMatchObject({ slug: 'plan_not_active', message });
      expect(publish(shown, 2000)).toBeUndefined();
      expect(unpublish(shown, 2000)).toEqual({ ...hidden, modifyTime: 2000 });
      expect(unpublish(hidden, 2000)).toBeUndefined();
    }
  });
});

describe('archiving a plan', () => {
  it('is done once, for now or for good, and takes it out of the shop window', () => {
    const active: Plan = { ...editing, status: 'active', publishStatus: 'published' };
    const soft = archive(active, false, 2000);
    expect(soft).toEqual({ ...active, status: 'softArchived', publishStatus: 'unpublished', modifyTime: 2000 });
    expect(soft && archive(soft, false, 3000)).toBeUndefined();
    const hard = archive({ ...editing, status: 'softArchived' }, true, 3000);
    expect(hard).toEqual({ ...editing, status: 'hardArchived', modifyTime: 3000 });
    expect(hard && archive(hard, true, 4000)).toBeUndefined();
    expect(archive(active, true, 2000)).toMatchObject({ status: 'hardArchived', publishStatus: 'unpublished' });
  });

  it('needs one that was activated, and does not bring it back', () => {
    for (const [status, hard, message] of [
      ['editing', false, 'Plan 4 is editing: cannot archive it'],
      ['editing', true, 'Plan 4 is editing: cannot hard-archive it'],
      ['hardArchived', false, 'Plan 4 is hardArchived: cannot archive it'],
    ] as const) {
      expect(attempt(() => archive({ ...editing, status }, hard, 1))).toMatchObject({
        slug: 'plan_not_archivable',
        message,
      });
    }
  });
});

describe('deleting a plan', () => {
  it('needs one that was never activated, and that is no add-on of another', () => {
    expect(remove(editing, [], 2000)).toEqual({
      ...editing,
      status: 'hardArchived',
      modifyTime: 2000,
      deletedTime: 2000,
    });
    for (const status of ['active', 'softArchived', 'hardArchived'] as const) {
      const message = `Plan 4 is ${status}: cannot delete it`;
      expect(attempt(() => remove({ ...editing, status }, [], 1))).toMatchObject({
        slug: 'plan_not_deletable',
        message,
      });
    }
    const message = 'Plan 4 is an add-on of plan 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and more: cannot delete it';
    expect(attempt(() => remove(editing, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], 1))).toMatchObject({ message });
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
      'editing delete hardArchived',
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
