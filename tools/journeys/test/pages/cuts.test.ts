import { beforeAll, describe, it } from '@jest/globals';
import type { Service } from '@recur/contracts';
import type { Page } from 'playwright-core';
import { type Cut, fieldOf, pressThroughCut, type Submit } from './cut.js';
import { closedAfterwards, type Seller, sharedSeller } from './seller.js';

closedAfterwards({ each: false });

let seller: Seller;
beforeAll(async () => {
  seller = await sharedSeller();
});

const fill = async (page: Page, typed: Readonly<Record<string, string>>) => {
  for (const [label, value] of Object.entries(typed)) await fieldOf(page, label).fill(value);
  return typed;
};
const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).first().click();
const countOf = async (sql: string, service: Service = 'billing') =>
  Number((await seller.stand.ask(service, sql))[0]?.n);
/** Charges of a user at the sandbox gateway, whatever came of them. */
const chargesOf = (userId: number) => () =>
  countOf(`select count(*) as n from sandbox_charges c join payments p
    on p.merchant_id = c.merchant_id and c.idempotency_key like p.payment_id || '-%'
    where c.kind = 'charge' and p.user_id = ${userId}`);

async function ofSubscriber() {
  const one = await seller.subscriber();
  const { page } = await seller.portal(one.user);
  await page.getByRole('button', { name: 'Change plan' }).waitFor();
  return { ...one, page };
}

/** The submits of all pages; each opens its page and stops before the button. */
const submits: Readonly<Record<string, () => Promise<Submit>>> = {
  'the details of a checkout': async () => {
    const { page, user } = await seller.checkout();
    return {
      ...{ page, operation: '/portal/user/update', button: /^Buy now/, done: 'Pay by bank transfer' },
      typed: await fill(page, { City: 'Köln', Quantity: '1' }),
      effects: async () => {
        const { city } = (await seller.get('/merchant/user/get', { userId: user.id })).user;
        return city === 'Köln' ? 1 : 0;
      },
    };
  },
  'an order': async () => {
    const { page, user } = await seller.checkout();
    await page.getByRole('radio', { name: 'Card' }).check();
    return {
      ...{ page, operation: '/portal/subscription/create_submit', button: /^Buy now/ },
      typed: await fill(page, { City: 'Köln', Company: 'Kahn AG' }),
      done: 'Thank you. Your subscription is active.',
      effects: async () => (await seller.subscriptionsOf(user.id)).length,
    };
  },
  'the payment of an order': async () => {
    const { page, user } = await seller.checkout();
    await page.getByRole('radio', { name: 'Card' }).check();
    await page.getByLabel('Test card').selectOption('needs_action');
    return {
      ...{ page, operation: '/portal/invoice/pay', button: /^Buy now/, again: /^Pay €/ },
      ...{ typed: { 'Test card': 'needs_action' }, done: 'Your bank wants you to confirm this payment.' },
      effects: chargesOf(user.id),
    };
  },
  'an invoice of the portal': async () => {
    const user = await seller.newUser();
    const { userId, number } = await seller.newInvoice(seller.gateway.card, user.id);
    const { page } = await seller.portal(user);
    await press(page, number);
    await page.getByLabel('Test card').waitFor();
    return {
      ...{ page, operation: '/portal/invoice/pay', button: /^Pay €/, done: /^Paid on/ },
      ...{ typed: { 'Test card': 'succeeds' }, effects: chargesOf(userId) },
    };
  },
  'an invoice of a link': async () => {
    const { userId, link } = await seller.newInvoice(seller.gateway.card);
    const { page } = await seller.open(link);
    await page.getByLabel('Test card').waitFor();
    return {
      ...{ page, operation: '/portal/invoice/pay_link', button: /^Pay €/, done: /^Paid on/ },
      ...{ typed: { 'Test card': 'succeeds' }, effects: chargesOf(userId) },
    };
  },
  'a transfer that was sent': async () => {
    const user = await seller.newUser();
    const { number, invoiceId } = await seller.newInvoice(seller.gateway.wire, user.id);
    const { page } = await seller.portal(user);
    await press(page, number);
    return {
      ...{ page, operation: '/portal/invoice/wire_sent', button: 'I have sent the transfer', done: 'You told us on' },
      effects: () =>
        countOf(`select count(*) as n from payments where invoice_id = '${invoiceId}' and announced_time > 0`),
    };
  },
  'a change of plan': async () => {
    const { page, user } = await ofSubscriber();
    await press(page, 'Change plan');
    await page.getByRole('radio', { name: /Large/ }).check();
    await page.getByRole('button', { name: /^Change now for/ }).waitFor();
    return {
      ...{ page, operation: '/portal/subscription/update_submit', button: /^Change now for/ },
      ...{ typed: { Quantity: '1' }, done: 'The change was made.' },
      effects: async () => (await seller.invoicesOf(user.id)).length - 1,
    };
  },
  'a change of plan that is taken back': async () => {
    const { user, subscriptionId } = await seller.subscriber(seller.plans.large);
    await seller.post('/merchant/subscription/update_submit', {
      ...{ subscriptionId, newPlanId: seller.plans.small, quantity: 1 },
    });
    const { page } = await seller.portal(user);
    return {
      ...{ page, operation: '/portal/subscription/pending_update_cancel', button: 'Take the change back' },
      done: 'End the subscription',
      effects: async () => {
        const { unfinishedSubscriptionPendingUpdate: pending } = await seller.get('/merchant/subscription/detail', {
          subscriptionId,
        });
        return pending ? 0 : 1;
      },
    };
  },
  'the end of a subscription': async () => {
    const { page, subscriptionId } = await ofSubscriber();
    await press(page, 'End the subscription');
    return {
      ...{ page, operation: '/portal/subscription/cancel_at_period_end', button: 'End at the end of the period' },
      done: 'Your subscription ends on',
      effects: async () => (await seller.subscriptionOf(subscriptionId)).cancelAtPeriodEnd,
    };
  },
  'the end that is taken back': async () => {
    const { user, subscriptionId } = await seller.subscriber();
    await seller.post('/merchant/subscription/cancel_at_period_end', { subscriptionId });
    const { page } = await seller.portal(user);
    return {
      ...{ page, operation: '/portal/subscription/resume', button: 'Keep the subscription', done: 'Change plan' },
      effects: async () => 1 - (await seller.subscriptionOf(subscriptionId)).cancelAtPeriodEnd,
    };
  },
  'another billing day': async () => {
    const { page, subscriptionId } = await ofSubscriber();
    const { currentPeriodStart } = await seller.subscriptionOf(subscriptionId);
    const day = new Date((currentPeriodStart + 12 * 86_400) * 1000).getUTCDate();
    await page.getByText('Change the billing day').click();
    await page.getByLabel('Billing day').selectOption(String(day));
    return {
      ...{ page, operation: '/portal/subscription/change_due_day', button: 'Save' },
      ...{ typed: { 'Billing day': String(day) }, done: 'The billing day was changed' },
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
    const { page } = await seller.portal(user);
    await page.getByText('Add a payment method').click();
    await page.getByLabel('Test card').selectOption('needs_action');
    return {
      ...{ page, operation: '/portal/payment_method/new', button: 'Add' },
      ...{ typed: { 'Test card': 'needs_action' }, done: '· default' },
      effects: () => methodsOf(user.id),
    };
  },
  'another default method': async () => {
    const user = await seller.newUser();
    for (const scenario of ['succeeds', 'needs_action']) {
      const data = { scenario };
      await seller.post('/merchant/payment/method/new', { gatewayId: seller.gateway.card, userId: user.id, data });
    }
    const { page } = await seller.portal(user);
    const defaults = `select count(*) as n from payment_methods where user_id = ${user.id} and is_default`;
    const before = await seller.stand.ask('billing', defaults.replace('count(*) as n', 'method_id as id'));
    return {
      ...{ page, operation: '/portal/payment_method/set_default', button: 'Make default', done: '· default' },
      effects: () => countOf(`${defaults} and method_id <> '${before[0]?.id}'`),
    };
  },
  'a payment method that is deleted': async () => {
    const user = await seller.newUser();
    const card = { gatewayId: seller.gateway.card, userId: user.id };
    await seller.post('/merchant/payment/method/new', { ...card, data: { scenario: 'succeeds' } });
    const { page } = await seller.portal(user);
    return {
      ...{ page, operation: '/portal/payment_method/delete', button: 'Delete', done: 'No payment method is saved.' },
      effects: async () => 1 - (await methodsOf(user.id)),
    };
  },
  'the billing details': async () => {
    const user = await seller.newUser();
    const { page } = await seller.portal(user);
    return {
      ...{ page, operation: '/portal/user/update', button: 'Save', done: 'Saved.' },
      typed: await fill(page, { City: 'Ulm', 'VAT number': 'DE136695976' }),
      effects: async () => ((await seller.get('/merchant/user/get', { userId: user.id })).user.city === 'Ulm' ? 1 : 0),
    };
  },
};
/** Cases that are under way side by side. */
const atOnce = 4;

async function cutAt(name: string, cut: Cut): Promise<void> {
  const submit = await (submits[name] as () => Promise<Submit>)();
  await pressThroughCut(cut, submit);
  await submit.page.context().close();
}

const methodsOf = (userId: number) => countOf(`select count(*) as n from payment_methods where user_id = ${userId}`);

describe('the network is cut at', () => {
  const cases = Object.keys(submits).flatMap(name =>
    (['before', 'after'] as const).map((cut): [string, Cut] => [name, cut]),
  );
  const ends: Promise<void>[] = [];
  // side by side, since most of a case is the client's pause between its attempts
  beforeAll(() => {
    for (const [at, [name, cut]] of cases.entries()) {
      const before = ends[at - atOnce] ?? Promise.resolve();
      ends.push(before.catch(() => undefined).then(() => cutAt(name, cut)));
    }
    for (const end of ends) end.catch(() => undefined);
  });

  it.each(cases.map(([name, cut], at) => [name, cut, at] as const))(
    '%s, %s it was done: the page keeps everything, and it is done once',
    async (_name, _cut, at) => ends[at],
  );

  it('the opening of a link: trying again opens it', async () => {
    const { user } = await seller.subscriber();
    const { url } = await seller.linkOf(user.email);
    const { page } = await seller.open('about:blank');
    await page.route('**/portal/session/exchange', async route => {
      await route.fetch();
      await route.abort();
    });
    await page.goto(url);
    await page.getByText('No answer came.').waitFor();
    await page.unroute('**/portal/session/exchange');
    await press(page, 'Try again');
    await page.getByRole('heading', { name: 'Small' }).waitFor();
  });
});
