import { deletePaymentMethod, newPaymentMethod, setupGateway } from '@recur/contracts';
import { Sandbox } from '../../src/gateways/adapters/sandbox.js';
import { shop } from '../shop.js';

/** A shop with a sandbox gateway that charges cards. */
export async function cardShop(env: Record<string, string> = {}) {
  const s = await shop(undefined, env);
  const { gatewayId } = (await s.t.done(setupGateway, { gatewayName: 'sandbox' })).gateway;
  const sandbox = s.t.app.get(Sandbox);
  const account = { merchantId: 15, gatewayId, key: '', secret: '', webhookSecret: '' };
  let users = 100;
  /** A user whose saved card has the outcome of a scenario; without one, a user without a card. */
  const buyer = async (scenario?: string): Promise<number> => {
    const userId = ++users;
    s.knowUser(userId);
    if (scenario) await card(userId, scenario);
    return userId;
  };
  const card = (userId: number, scenario: string) =>
    s.t.done(newPaymentMethod, { gatewayId, userId, data: { scenario } });
  const made = (userId: number, over: object = {}) => s.made({ userId, gatewayId, finish: true, ...over });
  /** Does what is due, at the present time. */
  const drain = () => s.t.work.drain();
  /** Lets time pass, in steps of ten minutes, each with what falls due in it. */
  const pass = async (seconds: number): Promise<void> => {
    for (let left = seconds; left > 0; left -= 600) {
      s.clock.advance(Math.min(left, 600));
      await drain();
    }
  };
  return {
    s,
    gatewayId,
    sandbox,
    account,
    buyer,
    card,
    made,
    drain,
    pass,
    /** Replaces a user's card. */
    async swap(userId: number, scenario: string) {
      const { method } = await card(userId, scenario);
      const rows = await s.t.rows(`select method_id from payment_methods where user_id = $1 and method_id <> $2`, [
        userId,
        method?.id,
      ]);
      for (const { method_id } of rows) {
        await s.t.done(deletePaymentMethod, { gatewayId, userId, paymentMethodId: String(method_id) });
      }
    },
    /** An invoice after its first attempt. */
    async charged(scenario: string) {
      const userId = await buyer(scenario);
      const { invoiceId } = await made(userId);
      await drain();
      return { userId, invoiceId, invoice: await s.detail(invoiceId) };
    },
    /** Charges that succeeded at the sandbox, by payment. */
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
