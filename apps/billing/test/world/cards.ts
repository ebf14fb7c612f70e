import { deletePaymentMethod, newPaymentMethod, type User } from '@recur/contracts';
import type { TestCaller } from '@recur/platform/testing';
import { Sandbox } from '../../src/gateways/adapters/sandbox.js';
import { type Shop, shop } from './shop.js';

/** Users with saved test cards: each card has the outcome of a scenario of the sandbox. */
export function cards({ t, newUser }: Shop, gatewayOf: () => number, caller: TestCaller = {}) {
  const card = (userId: number, scenario: string) =>
    t.done(newPaymentMethod, { gatewayId: gatewayOf(), userId, data: { scenario } }, caller);
  return {
    card,
    /** A new user with a saved card; without a scenario, without a card. */
    async userWithCard(scenario = '', over: Partial<User> = {}): Promise<number> {
      const userId = newUser(over, caller.merchantId);
      if (scenario !== '') await card(userId, scenario);
      return userId;
    },
    /** Replaces a user's card. */
    async swap(userId: number, scenario: string): Promise<void> {
      const { method } = await card(userId, scenario);
      const others = 'select method_id from payment_methods where user_id = $1 and method_id <> $2';
      for (const { method_id } of await t.rows(others, [userId, method?.id])) {
        const which = { gatewayId: gatewayOf(), userId, paymentMethodId: String(method_id) };
        await t.done(deletePaymentMethod, which, caller);
      }
    },
  };
}

/** A shop with a sandbox gateway that charges cards. */
export async function cardShop(env: Record<string, string> = {}) {
  const s = await shop(undefined, env);
  const { gatewayId } = await s.sandbox();
  const users = cards(s, () => gatewayId);
  const billed = (userId: number, over: object = {}) => s.made({ userId, gatewayId, finish: true, ...over });
  return {
    ...s,
    ...users,
    gatewayId,
    sandbox: s.t.app.get(Sandbox),
    account: { merchantId: 15, gatewayId, key: '', secret: '', webhookSecret: '' },
    /** An open invoice of a user, by card. */
    billed,
    /** Lets time pass, in steps of ten minutes, each with what falls due in it. */
    async pass(seconds: number): Promise<void> {
      for (let left = seconds; left > 0; left -= 600) {
        s.clock.advance(Math.min(left, 600));
        await s.drain();
      }
    },
    /** An invoice after its first attempt. */
    async charged(scenario: string) {
      const userId = await users.userWithCard(scenario);
      const { invoiceId } = await billed(userId);
      await s.drain();
      return { userId, invoiceId, invoice: await s.detail(invoiceId) };
    },
    /** How many charges of an invoice succeeded at the sandbox. */
    moneyOf: async (invoiceId: string): Promise<number> => {
      const rows = await s.t.rows(
        `select c.amount from sandbox_charges c join payments p
          on c.idempotency_key like p.payment_id || '-%' where p.invoice_id = $1 and c.state = 'succeeded'`,
        [invoiceId],
      );
      return rows.length;
    },
    paymentsOf: (invoiceId: string) =>
      s.t.rows(
        `select payment_id as id, status, outcome, attempt, reason, automatic from payments where invoice_id = $1 order by id`,
        [invoiceId],
      ),
  };
}
export type CardShop = Awaited<ReturnType<typeof cardShop>>;
