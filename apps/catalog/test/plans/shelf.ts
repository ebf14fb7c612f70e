import {
  activatePlan,
  archivePlan,
  deletePlan,
  newPlan,
  newProduct,
  type Plan,
  type Product,
  publishPlan,
} from '@recur/contracts';
import { MovableClock, testService } from '@recur/platform/testing';
import { catalog } from '../../src/service.js';

/** Every state that a plan can be found in. */
export const planStates = ['editing', 'active', 'published', 'softArchived', 'hardArchived', 'deleted'] as const;
export type PlanState = (typeof planStates)[number];

export const monthly = { amount: 999, currency: 'USD', planName: 'Basic', intervalUnit: 'month', intervalCount: 1 };

/** A catalog to fill, with plans and products of merchant 15 unless a caller says otherwise. */
export async function shelf() {
  const clock = new MovableClock();
  const t = await testService(catalog, { clock, env: { PORTAL_BASE: 'https://pay.example.com/portal' } });
  const planOf = async (more: object = {}, caller = {}): Promise<Plan> =>
    (await t.done(newPlan, { ...monthly, ...more }, caller)).plan;
  const moves = {
    activate: (planId: number) => t.call(activatePlan, { planId }),
    archive: (planId: number) => t.call(archivePlan, { planId }),
    archiveHard: (planId: number) => t.call(archivePlan, { planId, hardArchive: true }),
    delete: (planId: number) => t.call(deletePlan, { planId }),
    publish: (planId: number) => t.call(publishPlan, { planId }),
  };
  const into: Record<PlanState, (keyof typeof moves)[]> = {
    editing: [],
    active: ['activate'],
    published: ['activate', 'publish'],
    softArchived: ['activate', 'archive'],
    hardArchived: ['activate', 'archiveHard'],
    deleted: ['delete'],
  };
  return {
    t,
    clock,
    planOf,
    moves,
    productOf: async (more: object = {}): Promise<Product> =>
      (await t.done(newProduct, { productName: 'Seats', ...more })).product,
    /** A plan that was brought into a state; as it was when it was made. */
    async inState(state: PlanState, more: object = {}): Promise<Plan> {
      const plan = await planOf(more);
      for (const move of into[state]) {
        const { ok } = await moves[move](plan.id);
        if (!ok) throw new Error(`${move} was refused`);
      }
      return plan;
    },
    /** The types of the events since the last time, each with its version. */
    types: async () => (await t.emitted()).map(({ type, version }) => `${type} ${version}`),
  };
}
export type Shelf = Awaited<ReturnType<typeof shelf>>;
