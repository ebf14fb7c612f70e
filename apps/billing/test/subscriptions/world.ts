import {
  activateDiscount,
  createSubscription,
  discountBillingType,
  discountType,
  type In,
  markWireTransferSuccess,
  newDiscount,
  planType,
  type Subscription,
  setupGateway,
  subscriptionDetail,
} from '@recur/contracts';
import { Sandbox } from '../../src/gateways/adapters/sandbox.js';
import { shop } from '../shop.js';

type Input = Partial<In<typeof createSubscription>>;

/** A shop with plan 10 (3000 a month), its recurring add-on 11 (500 a month), and users of its own for each test. */
export async function world() {
  const s = await shop();
  const { t } = s;
  const monthly = { intervalUnit: 'month', intervalCount: 1 };
  s.knowPlan(10, { ...monthly, amount: 3000, type: planType.main, bindingAddonIds: '11' });
  s.knowPlan(11, { ...monthly, amount: 500, type: planType.recurringAddon, planName: 'Seats' });
  let user = 100;
  const newUser = (over: object = {}) => {
    user += 1;
    s.knowUser(user, over);
    return user;
  };
  const create = (over: Input) => t.done(createSubscription, { planId: 10, ...over });
  const receive = (invoiceId: string) => t.done(markWireTransferSuccess, { invoiceId, transferNumber: 'T-1' });
  const detail = (subscriptionId: string) => t.done(subscriptionDetail, { subscriptionId });
  return {
    ...s,
    newUser,
    create,
    receive,
    of: detail,
    statusOf: async (subscriptionId: string) => (await detail(subscriptionId)).subscription.status,
    /** An active subscription of a new user. */
    async active(over: Input = {}): Promise<Subscription> {
      const { invoiceId, subscription } = await create({ userId: newUser(), ...over });
      if (invoiceId) await receive(invoiceId);
      return (await detail(subscription.subscriptionId)).subscription;
    },
    /** An active code of 10 %, or of other settings. */
    async code(code: string, over: object = {}) {
      const given = {
        billingType: discountBillingType.recurring,
        discountType: discountType.percentage,
        discountPercentage: 1000,
        startTime: 0,
        endTime: 0,
        ...over,
      };
      const { discount } = await t.done(newDiscount, { code, ...given });
      await t.done(activateDiscount, { id: discount.id });
      return discount;
    },
    sandbox: async () =>
      (await t.done(setupGateway, { gatewayName: 'sandbox', currency: 'EUR', minimumAmount: 0 })).gateway,
  };
}
export type World = Awaited<ReturnType<typeof world>>;

/** The same with a sandbox gateway, and plan 20 (6000 a month). */
export async function cardWorld() {
  const w = await world();
  const { gatewayId } = await w.sandbox();
  w.knowPlan(20, { intervalUnit: 'month', intervalCount: 1, amount: 6000, type: planType.main });
  return { w, gatewayId, sandbox: w.t.app.get(Sandbox) };
}
