import type { Service } from '@recur/contracts';
import type { Page } from 'playwright-core';
import { fieldOf, type Submit } from './cut.js';
import type { Seller } from './seller.js';

const fill = async (page: Page, typed: Readonly<Record<string, string>>) => {
  for (const [label, value] of Object.entries(typed)) await fieldOf(page, label).fill(value);
  return page;
};
const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).first().click();

/** The submits of all pages, each with what was done before its page is opened. */
export function submitsOf(seller: Seller): Readonly<Record<string, () => Promise<Submit>>> {
  const countOf = async (sql: string, service: Service = 'billing') =>
    Number((await seller.stand.ask(service, sql))[0]?.n);
  /** Charges of a user at the sandbox gateway that take money, or may: one that waited for its user and was replaced may not. */
  const chargesOf = (userId: number) => () =>
    countOf(`select count(*) as n from sandbox_charges c join payments p
      on p.merchant_id = c.merchant_id and c.idempotency_key like p.payment_id || '-%'
      where c.kind = 'charge' and c.state <> 'cancelled' and p.user_id = ${userId}`);
  const methodsOf = (userId: number) => countOf(`select count(*) as n from payment_methods where user_id = ${userId}`);
  const saveCard = (userId: number, scenario: string) =>
    seller.post('/merchant/payment/method/new', { gatewayId: seller.gateway.card, userId, data: { scenario } });
  const portalOf = async (user: { email: string }) => (await seller.portal(user)).page;
  const changeable = async (user: { email: string }) => {
    const page = await portalOf(user);
    await page.getByRole('button', { name: 'Change plan' }).waitFor();
    return page;
  };

  return {
    'the details of a checkout': async () => {
      const user = await seller.newUser();
      const typed = { City: 'Köln', Quantity: '1' };
      return {
        visit: async () => fill((await seller.checkout({}, user)).page, typed),
        operation: '/portal/user/update',
        button: /^Buy now/,
        done: 'Pay by bank transfer',
        typed,
        effects: async () => {
          const { city } = (await seller.get('/merchant/user/get', { userId: user.id })).user;
          return city === 'Köln' ? 1 : 0;
        },
      };
    },
    'an order': async () => {
      const user = await seller.newUser();
      const typed = { City: 'Köln', Company: 'Kahn AG' };
      return {
        visit: async () => {
          const { page } = await seller.checkout({}, user);
          await page.getByRole('radio', { name: 'Card' }).check();
          return fill(page, typed);
        },
        operation: '/portal/subscription/create_submit',
        button: /^Buy now/,
        typed,
        done: 'Thank you. Your subscription is active.',
        effects: async () => (await seller.subscriptionsOf(user.id)).length,
      };
    },
    'the payment of an order': async () => {
      const user = await seller.newUser();
      return {
        visit: async () => {
          const { page } = await seller.checkout({}, user);
          await page.getByRole('radio', { name: 'Card' }).check();
          await page.getByLabel('Test card').selectOption('needs_action');
          return page;
        },
        operation: '/portal/invoice/pay',
        button: /^Buy now/,
        again: /^Pay €/,
        typed: { 'Test card': 'needs_action' },
        done: 'Your bank wants you to confirm this payment.',
        effects: chargesOf(user.id),
      };
    },
    'an invoice of the portal': async () => {
      const user = await seller.newUser();
      const { number } = await seller.newInvoice(seller.gateway.card, user.id);
      return {
        visit: async () => {
          const page = await portalOf(user);
          await press(page, number);
          await page.getByLabel('Test card').waitFor();
          return page;
        },
        operation: '/portal/invoice/pay',
        button: /^Pay €/,
        done: /^Paid on/,
        typed: { 'Test card': 'succeeds' },
        effects: chargesOf(user.id),
      };
    },
    'an invoice of a link': async () => {
      const { userId, link } = await seller.newInvoice(seller.gateway.card);
      return {
        visit: async () => {
          const { page } = await seller.open(link);
          await page.getByLabel('Test card').waitFor();
          return page;
        },
        operation: '/portal/invoice/pay_link',
        button: /^Pay €/,
        done: /^Paid on/,
        typed: { 'Test card': 'succeeds' },
        effects: chargesOf(userId),
      };
    },
    'a transfer that was sent': async () => {
      const user = await seller.newUser();
      const { number, invoiceId } = await seller.newInvoice(seller.gateway.wire, user.id);
      return {
        visit: async () => {
          const page = await portalOf(user);
          await press(page, number);
          await page.getByRole('button', { name: 'I have sent the transfer' }).waitFor();
          return page;
        },
        operation: '/portal/invoice/wire_sent',
        button: 'I have sent the transfer',
        done: 'You told us on',
        effects: () =>
          countOf(`select count(*) as n from payments where invoice_id = '${invoiceId}' and announced_time > 0`),
      };
    },
    'a change of plan': async () => {
      const { user } = await seller.subscriber();
      return {
        visit: async () => {
          const page = await changeable(user);
          await press(page, 'Change plan');
          await page.getByRole('radio', { name: /Large/ }).check();
          await page.getByRole('button', { name: /^Change now for/ }).waitFor();
          return page;
        },
        operation: '/portal/subscription/update_submit',
        button: /^Change now for/,
        typed: { Quantity: '1' },
        done: 'The change was made.',
        effects: async () => (await seller.invoicesOf(user.id)).length - 1,
      };
    },
    'a change of plan that is taken back': async () => {
      const { user, subscriptionId } = await seller.subscriber(seller.plans.large);
      await seller.post('/merchant/subscription/update_submit', {
        subscriptionId,
        newPlanId: seller.plans.small,
        quantity: 1,
      });
      return {
        visit: () => portalOf(user),
        operation: '/portal/subscription/pending_update_cancel',
        button: 'Take the change back',
        done: { gone: 'Take the change back' },
        effects: async () => {
          const { unfinishedSubscriptionPendingUpdate: pending } = await seller.get('/merchant/subscription/detail', {
            subscriptionId,
          });
          return pending ? 0 : 1;
        },
      };
    },
    'the end of a subscription': async () => {
      const { user, subscriptionId } = await seller.subscriber();
      return {
        visit: async () => {
          const page = await changeable(user);
          await press(page, 'End the subscription');
          return page;
        },
        operation: '/portal/subscription/cancel_at_period_end',
        button: 'End at the end of the period',
        done: 'Your subscription ends on',
        effects: async () => (await seller.subscriptionOf(subscriptionId)).cancelAtPeriodEnd,
      };
    },
    'the end that is taken back': async () => {
      const { user, subscriptionId } = await seller.subscriber();
      await seller.post('/merchant/subscription/cancel_at_period_end', { subscriptionId });
      return {
        visit: () => portalOf(user),
        operation: '/portal/subscription/resume',
        button: 'Keep the subscription',
        done: 'Change plan',
        effects: async () => 1 - (await seller.subscriptionOf(subscriptionId)).cancelAtPeriodEnd,
      };
    },
    'another billing day': async () => {
      const { user, subscriptionId } = await seller.subscriber();
      const { currentPeriodStart } = await seller.subscriptionOf(subscriptionId);
      const day = String(new Date((currentPeriodStart + 12 * 86_400) * 1000).getUTCDate());
      return {
        visit: async () => {
          const page = await changeable(user);
          await page.getByText('Change the billing day').click();
          await page.getByLabel('Billing day').selectOption(day);
          return page;
        },
        operation: '/portal/subscription/change_due_day',
        button: 'Save',
        typed: { 'Billing day': day },
        done: 'The billing day was changed',
        effects: () =>
          countOf(
            `select count(*) as n from operation_logs
             where subscription_id = '${subscriptionId}' and opt_content like 'ChangeDueDay%'`,
            'identity',
          ),
      };
    },
    'a new payment method': async () => {
      const user = await seller.newUser();
      return {
        visit: async () => {
          const page = await portalOf(user);
          await page.getByText('Add a payment method').click();
          await page.getByLabel('Test card').selectOption('needs_action');
          return page;
        },
        operation: '/portal/payment_method/new',
        button: 'Add',
        typed: { 'Test card': 'needs_action' },
        done: '· default',
        effects: () => methodsOf(user.id),
      };
    },
    'another default method': async () => {
      const user = await seller.newUser();
      for (const scenario of ['succeeds', 'needs_action']) await saveCard(user.id, scenario);
      const defaults = `select count(*) as n from payment_methods where user_id = ${user.id} and is_default`;
      const before = await seller.stand.ask('billing', defaults.replace('count(*) as n', 'method_id as id'));
      return {
        visit: () => portalOf(user),
        // the rows keep their order: the first one is the default then
        operation: '/portal/payment_method/set_default',
        button: 'Make default',
        done: /· default.*Make default/,
        effects: () => countOf(`${defaults} and method_id <> '${before[0]?.id}'`),
      };
    },
    'a payment method that is deleted': async () => {
      const user = await seller.newUser();
      await saveCard(user.id, 'succeeds');
      return {
        visit: () => portalOf(user),
        operation: '/portal/payment_method/delete',
        button: 'Delete',
        done: 'No payment method is saved.',
        effects: async () => 1 - (await methodsOf(user.id)),
      };
    },
    'the billing details': async () => {
      const user = await seller.newUser();
      const typed = { City: 'Ulm', 'VAT number': 'DE136695976' };
      return {
        visit: async () => fill(await portalOf(user), typed),
        operation: '/portal/user/update',
        button: 'Save',
        done: /^Saved\.$/,
        typed,
        effects: async () =>
          (await seller.get('/merchant/user/get', { userId: user.id })).user.city === 'Ulm' ? 1 : 0,
      };
    },
  };
}
