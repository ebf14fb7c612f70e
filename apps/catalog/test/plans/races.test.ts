import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { archivePlan, bindAddons, editPlan, type Plan, unpublishPlan } from '@recur/contracts';
import { type PlanState, type Shelf, shelf } from './shelf.js';

let s: Shelf;
beforeAll(async () => {
  s = await shelf();
});
afterAll(() => s.t.close());

const ATTEMPTS = 12;

/** Two plans of a race: one that it is about, with an add-on beside it that is not bound yet. */
interface Pair {
  plan: Plan;
  addon: Plan;
}
type Move = (pair: Pair) => Promise<boolean>;

const moves: Record<string, Move> = {
  'plan/edit': async ({ plan }) => (await s.t.call(editPlan, { planId: plan.id, amount: 5, planName: 'Pro' })).ok,
  'plan/activate': async ({ plan }) => (await s.moves.activate(plan.id)).ok,
  'plan/addons_binding': async ({ plan, addon }) =>
    (await s.t.call(bindAddons, { planId: plan.id, addonIds: [addon.id] })).ok,
  'plan/archive': async ({ plan }) => (await s.moves.archive(plan.id)).ok,
  'plan/archive for good': async ({ plan }) => (await s.moves.archiveHard(plan.id)).ok,
  'plan/publish': async ({ plan }) => (await s.moves.publish(plan.id)).ok,
  'plan/unpublished': async ({ plan }) => (await s.t.call(unpublishPlan, { planId: plan.id })).ok,
  'plan/delete': async ({ plan }) => (await s.moves.delete(plan.id)).ok,
  'plan/delete of the add-on': async ({ addon }) => (await s.moves.delete(addon.id)).ok,
  'plan/edit of the add-on': async ({ addon }) => (await s.t.call(editPlan, { planId: addon.id, currency: 'EUR' })).ok,
};

/** Every two of the moves that may happen in a state. */
const inStates: Partial<Record<PlanState, string[]>> = {
  editing: Object.keys(moves).filter(move => !/publish|archive/.test(move)),
  published: Object.keys(moves).filter(move => !/delete$/.test(move)),
};
const races = Object.entries(inStates).flatMap(([state, names]) =>
  names.flatMap((one, at) => names.slice(at).map(other => ({ state: state as PlanState, one, other }))),
);

const made = (state: PlanState, count: number): Promise<Pair[]> =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const [plan, addon] = await Promise.all([s.inState(state), s.planOf({ type: 2 })]);
      return { plan, addon };
    }),
  );

/** Which of two moves were done, what became of the plans, and what was told of them. */
async function outcome({ plan, addon }: Pair, done: readonly boolean[]): Promise<string> {
  const plans = await s.t.rows(
    `select status, publish_status, plan_name, amount, currency, version, deleted_time > 0 as deleted,
       array_position(array[$1, $2]::bigint[], addon_ids[1]) as bound,
       (select string_agg(type, ' ' order by o.version) from outbox o
        where o.aggregate = 'plan' and o.aggregate_id = p.id::text) as told
     from plans p where id = any($3) order by id = $1 desc`,
    [plan.id, addon.id, [plan.id, addon.id]],
  );
  return JSON.stringify({ done, plans });
}

const swapped = (text: string) => {
  const { done, ...rest } = JSON.parse(text);
  return JSON.stringify({ done: done.toReversed(), ...rest });
};

describe('two moves at once end as if one had come after the other', () => {
  it.each(races)('$one and $other of a plan that is $state', async ({ state, one, other }) => {
    const [first, second] = [moves[one], moves[other]] as [Move, Move];
    const inTurn = async (before: Move, after: Move) => {
      const [pair] = (await made(state, 1)) as [Pair];
      return outcome(pair, [await before(pair), await after(pair)]);
    };
    const sequential = [await inTurn(first, second), swapped(await inTurn(second, first))];
    const pairs = await made(state, ATTEMPTS);
    await s.t.emitted();
    const seen = await Promise.all(
      pairs.map(async (pair, at) => {
        if (at % 2 === 0) return outcome(pair, await Promise.all([first(pair), second(pair)]));
        return swapped(await outcome(pair, await Promise.all([second(pair), first(pair)])));
      }),
    );
    expect(sequential).toEqual(expect.arrayContaining([...new Set(seen)]));
    const logs = (await s.t.emitted()).filter(({ type }) => type === 'operation.logged');
    expect(new Set(logs.map(({ requestId }) => requestId)).size).toBe(logs.length);
  });

  it('and an archive for now beside one for good, in whatever order they come, is for good', async () => {
    const pairs = await made('active', ATTEMPTS);
    await Promise.all(
      pairs.flatMap(({ plan }) => [
        s.t.call(archivePlan, { planId: plan.id }),
        s.t.call(archivePlan, { planId: plan.id, hardArchive: true }),
      ]),
    );
    const ids = pairs.map(({ plan }) => plan.id);
    expect(await s.t.rows('select distinct status from plans where id = any($1)', [ids])).toEqual([
      { status: 'hardArchived' },
    ]);
  });
});
