import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { emptyOf, newInvoice, newPayment, Plan, planStatus } from '@recur/contracts';
import { type Shop, shop } from '../world/shop.js';

let s: Shop;
/** The plan as catalog has it, and the number of questions that catalog got. */
let owned: { version: number; data: Plan };
let questions = 0;

beforeAll(async () => {
  s = await shop();
});
afterAll(() => s.t.close());

const price = { planName: 'Pro', amount: 4900, currency: 'EUR' };
const became = (id: number, version: number, status: number) => {
  owned = { version, data: { ...emptyOf(Plan), id, merchantId: 15, ...price, status } };
  s.t.bus.answer('catalog', async () => {
    questions++;
    return { ok: true, bytes: JSON.stringify({ item: { merchantId: 15, ...owned } }) };
  });
};
/** Changes the plan in catalog and delivers the event. */
async function told(type: string, id: number, version: number, status: number): Promise<void> {
  became(id, version, status);
  const actor = { kind: 'key', id: 'key', display: 'key_...test' } as const;
  const of = { id: `ev_${type}${id}`, merchantId: 15, aggregate: 'plan', aggregateId: String(id) };
  await s.t.deliver('catalog', [
    { ...of, type, version, at: 0, actor, requestId: 'r', traceparent: '', data: owned.data },
  ]);
}
const buy = (planId: number) => s.t.call(newInvoice, { ...s.order, lines: [{ planId }] });
const refused = { ok: false, slug: 'plan_not_active' };

describe('a plan that is archived', () => {
  it('is refused by its copy, which follows the event; it may have come back, so catalog is asked', async () => {
    await told('plan.activated', 7, 2, planStatus.active);
    expect(await buy(7)).toMatchObject({ ok: true });
    expect(questions).toBe(0);
    await told('plan.archived', 7, 3, planStatus.softArchived);
    expect(await buy(7)).toMatchObject(refused);
    expect(questions).toBe(1);
    became(7, 4, planStatus.active);
    expect(await buy(7)).toMatchObject({ ok: true });
    expect(questions).toBe(2);
  });

  it.each([
    ['plan.archived', 8],
    ['plan.deleted', 9],
  ])('for good, or deleted (%s), is refused without asking anybody, catalog away or not', async (type, id) => {
    await told(type, id, 3, planStatus.hardArchived);
    const before = questions;
    const { gatewayId } = s.gateway;
    for (let round = 0; round < 2; round++) {
      expect(await buy(id)).toMatchObject(refused);
      expect(await s.t.call(newPayment, { userId: 1, planId: id, gatewayId })).toMatchObject(refused);
      s.t.bus.remove('catalog');
    }
    expect(questions).toBe(before);
  });
});
