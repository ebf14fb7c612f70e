import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { isQuiet } from '../../browser.js';
import { hostedJourney } from '../../hosted.js';
import { fieldOf } from './cut.js';
import { type Seller, sharedSeller, until } from './seller.js';

let seller: Seller;
beforeAll(async () => {
  seller = await sharedSeller();
});

describe('a smaller plan', () => {
  it('begins with the next period, is shown as pending, and is taken back', async () => {
    const { user, subscriptionId } = await seller.subscriber(seller.plans.large);
    const { page } = await seller.portal(user);
    await page.getByRole('button', { name: 'Change plan' }).click();
    await page.getByRole('radio', { name: /Small/ }).check();
    await page.getByText(/^The change takes effect on/).waitFor();
    await page.getByRole('button', { name: 'Confirm the change' }).dblclick();
    await page.getByText('The change was made.').waitFor();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText(/the subscription changes to Small/).waitFor();
    const shown = async () => await seller.get('/merchant/subscription/detail', { subscriptionId });
    const pending = (await shown()).unfinishedSubscriptionPendingUpdate;
    expect(pending).toMatchObject({ effectImmediate: 0, updatePlanId: seller.plans.small });
    const { planId, currentPeriodEnd } = await seller.subscriptionOf(subscriptionId);
    expect({ planId, effectTime: pending?.effectTime }).toEqual({
      planId: seller.plans.large,
      effectTime: currentPeriodEnd,
    });
    await page.getByRole('button', { name: 'Take the change back' }).click();
    await page.getByText(/the subscription changes to Small/).waitFor({ state: 'detached' });
    expect((await shown()).unfinishedSubscriptionPendingUpdate).toBeNull();
    expect((await seller.invoicesOf(user.id)).length).toBe(1);
  });
});

/** The text of what has the focus. */
const focused = (page: Page) =>
  page.evaluate('document.activeElement.tagName + " " + document.activeElement.innerText');

describe('a change of plan', () => {
  it('starts from what the subscription has now, though it was changed elsewhere', async () => {
    const { user, subscriptionId } = await seller.subscriber();
    const { page } = await seller.portal(user);
    await page.getByRole('button', { name: 'Change plan' }).click();
    await fieldOf(page, 'Quantity').waitFor();
    await page.getByRole('button', { name: 'Back', exact: true }).click();
    const elsewhere = { subscriptionId, newPlanId: seller.plans.small, quantity: 3, effectImmediate: 1 as const };
    await seller.post('/merchant/subscription/update_submit', elsewhere);
    await until(async () => (await seller.subscriptionOf(subscriptionId)).quantity === 3);
    const detail = page.waitForResponse(/subscription\/detail/);
    await page.getByRole('button', { name: 'Change plan' }).click();
    await detail;
    await page.locator('input[type=number]').and(page.locator('[value="3"]')).waitFor();
    await page.getByText('Choose another plan, quantity or add-on').waitFor();
  });

  it('keeps an add-on that is sold no more, where the plan has it, until it is removed', async () => {
    const addon = await seller.newAddon('Extra', 500);
    const has = async (name: string, amount: number) =>
      (await seller.newPlan(name, amount, { addonIds: [addon.id] })).id;
    const [few, many] = [await has('Few', 1_000), await has('Many', 2_000)];
    const addonParams = [{ addonPlanId: addon.id, quantity: 2 }];
    const { user, subscriptionId } = await seller.subscriber(few, { addonParams });
    await seller.post('/merchant/plan/archive', { planId: addon.id });
    const { page } = await seller.portal(user);
    await page.getByRole('button', { name: 'Change plan' }).click();
    const choice = page.getByRole('checkbox', { name: /^Extra/ });
    expect(await choice.isChecked()).toBe(true);
    await page.getByRole('radio', { name: /Many/ }).check();
    await page.getByRole('button', { name: /^Change now for/ }).click();
    await page.getByText('The change was made.').waitFor();
    const addons = async () => (await seller.get('/merchant/subscription/detail', { subscriptionId })).addonParams;
    expect(await addons()).toEqual(addonParams);
    expect((await seller.subscriptionOf(subscriptionId)).planId).toBe(many);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'Change plan' }).click();
    await choice.uncheck();
    await page.getByRole('button', { name: 'Confirm the change' }).waitFor();
    await page.getByRole('radio', { name: /Small/ }).check();
    await choice.waitFor({ state: 'detached' });
  });
});

describe('the billing details', () => {
  it('are those that were saved when the page is left and come back to', async () => {
    const { page } = await seller.portal((await seller.subscriber()).user);
    await fieldOf(page, 'City').fill('Ulm');
    await page.getByRole('button', { name: 'Save', exact: true }).last().click();
    await page.getByText('Saved.', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Change plan' }).click();
    await page.getByRole('button', { name: 'Back', exact: true }).click();
    expect(await fieldOf(page, 'City').inputValue()).toBe('Ulm');
  });

  it('keep what is typed while they are saved', async () => {
    const user = await seller.newUser();
    const { page } = await seller.portal(user);
    const save = page.getByRole('button', { name: 'Save', exact: true });
    await fieldOf(page, 'City').fill('Ulm');
    const typing = async (route: Route) => {
      const response = await route.fetch();
      await fieldOf(page, 'Company').fill('Kahn AG');
      await route.fulfill({ response });
    };
    await page.route('**/portal/user/update', typing, { times: 1 });
    await save.click();
    await page.locator('button[type=submit]:enabled', { hasText: 'Save' }).last().waitFor();
    expect(await fieldOf(page, 'Company').inputValue()).toBe('Kahn AG');
    await save.click();
    await page.getByText('Saved.', { exact: true }).waitFor();
    const { city, companyName } = (await seller.get('/merchant/user/get', { userId: user.id })).user;
    expect({ city, companyName }).toEqual({ city: 'Ulm', companyName: 'Kahn AG' });
  });
});

describe('two invoices of one visit', () => {
  it('have each their own choice, also where the history leads from one to the other', async () => {
    const user = await seller.newUser();
    const [first, second] = [
      await seller.newInvoice(seller.gateway.card, user.id),
      await seller.newInvoice(seller.gateway.card, user.id),
    ];
    const { page } = await seller.portal(user);
    await page.getByRole('button', { name: first.number }).click();
    await page.getByText(`Invoice ${first.number}`).waitFor();
    await page.getByRole('button', { name: 'Back', exact: true }).click();
    await page.getByRole('button', { name: second.number }).click();
    await page.getByText(`Invoice ${second.number}`).waitFor();
    await fieldOf(page, 'Test card').selectOption('declines_hard');
    await page.evaluate('history.go(-2)');
    await page.getByText(`Invoice ${first.number}`).waitFor();
    expect(await fieldOf(page, 'Test card').inputValue()).toBe('succeeds');
  });

  it('say that the gateways did not arrive, and ask for them again', async () => {
    const user = await seller.newUser();
    const { number } = await seller.newInvoice(seller.gateway.card, user.id);
    const { page } = await seller.open('about:blank');
    await page.route('**/portal/gateway/list', route => route.abort());
    await page.goto((await seller.linkOf(user.email)).url);
    await page.getByText('No answer came.').waitFor();
    await page.getByRole('button', { name: number }).click();
    await page.getByText('No answer came.').waitFor();
    await page.unroute('**/portal/gateway/list');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('button', { name: /^Pay €/ }).waitFor();
  });
});

describe('a language', () => {
  it('whose messages do not arrive leaves the page as it is, and is loaded when chosen again', async () => {
    const { page } = await seller.open(`${seller.baseUrl}/portal/`, { locale: 'de-DE' });
    const choose = () => page.getByRole('combobox').selectOption('zh');
    await page.route('**/assets/zh-*.js', route => route.abort());
    const failed = page.waitForEvent('requestfailed');
    await choose();
    await failed;
    await until(async () => isQuiet(page));
    expect(await page.locator('html').getAttribute('lang')).toBe('de');
    await page.unroute('**/assets/zh-*.js');
    await choose();
    await page.locator('html[lang=zh]').waitFor({ state: 'attached' });
  });
});

describe('another billing day', () => {
  it('is said to be set until the next one is chosen', async () => {
    const { user } = await seller.subscriber();
    const { page } = await seller.portal(user);
    await page.getByText('Change the billing day').click();
    const day = page.getByLabel('Billing day');
    await day.selectOption('3');
    await page.getByRole('button', { name: 'Save', exact: true }).first().click();
    const said = page.getByText('The billing day was changed');
    await said.waitFor();
    await day.selectOption('7');
    await said.waitFor({ state: 'detached' });
  });
});

describe('the focus', () => {
  it('goes to the heading of the part where the pressed button disappears', async () => {
    const { user, subscriptionId } = await seller.subscriber();
    await seller.post('/merchant/subscription/cancel_at_period_end', { subscriptionId });
    const { page } = await seller.portal(user);
    await page.getByRole('button', { name: 'Keep the subscription' }).press('Enter');
    await page.getByRole('button', { name: 'Change plan' }).waitFor();
    expect(await focused(page)).toBe('H2 Small');
    await page.getByRole('button', { name: 'End the subscription' }).press('Enter');
    expect(await focused(page)).toBe('H2 Small');
    await page.getByRole('button', { name: /^Delete/ }).press('Enter');
    await page.getByText('No payment method is saved.').waitFor();
    expect(await focused(page)).toBe('H2 Payment methods');
  });

  it('does not come back to a field that was left', async () => {
    const { page } = await seller.checkout();
    await fieldOf(page, 'Quantity').fill('2');
    await fieldOf(page, 'Quantity').blur();
    await page.getByRole('button', { name: /^Buy now for €116\.62/ }).waitFor();
    expect(await focused(page)).toMatch(/^BODY/);
  });

  it('stays on a button whose action fails', async () => {
    const { page } = await seller.portal((await seller.subscriber()).user);
    await page.route('**/portal/payment_method/delete', route => route.abort());
    await page.getByRole('button', { name: /^Delete/ }).press('Enter');
    await page.getByText('No answer came.').waitFor();
    expect(await focused(page)).toBe('BUTTON Delete');
  });
});

describe('dates', () => {
  it('are those of the zone of the subscription, also on its invoice', async () => {
    // whichever is on another day than UTC now
    const timeZone = new Date().getUTCHours() < 10 ? 'Pacific/Pago_Pago' : 'Pacific/Kiritimati';
    const { user, subscriptionId } = await seller.subscriber(seller.plans.small, { timeZone });
    const { currentPeriodStart, currentPeriodEnd } = await seller.subscriptionOf(subscriptionId);
    const dated = (seconds: number, zone: string) =>
      new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeZone: zone }).format(seconds * 1000);
    const [from, to] = [currentPeriodStart, currentPeriodEnd].map(seconds => dated(seconds, timeZone));
    expect(from).not.toBe(dated(currentPeriodStart, 'UTC'));
    const { page } = await seller.portal(user);
    await page.getByText(`Current period until ${to}`).waitFor();
    const [invoice] = await seller.invoicesOf(user.id);
    await page.getByRole('button', { name: invoice?.number }).click();
    await page.getByText(`${from} – ${to}`).waitFor();
    const byLink = await seller.open(invoice?.link ?? '');
    await byLink.page.getByText(`${from} – ${to}`).waitFor();
  });
});

describe('a page that is written from right to left', () => {
  it('begins at the right: the name of the merchant, the columns of a table', async () => {
    const { page } = await seller.portal((await seller.subscriber()).user);
    await page.getByRole('heading', { name: 'Invoices' }).waitFor();
    const places = () =>
      Promise.all(
        ['.seller', 'label.language', 'tbody td:first-child', 'tbody td.amount'].map(
          async selector => (await page.locator(selector).filter({ visible: true }).first().boundingBox())?.x ?? 0,
        ),
      );
    const [name = 0, language = 0, what = 0, amount = 0] = await places();
    expect([name < language, what < amount]).toEqual([true, true]);
    await page.evaluate(`document.documentElement.dir = 'rtl'`);
    const [nameThen = 0, languageThen = 0, whatThen = 0, amountThen = 0] = await places();
    expect([nameThen > languageThen, whatThen > amountThen]).toEqual([true, true]);
  });
});

describe('links', () => {
  it('that the demo prints open a checkout, a portal and an invoice', async () => {
    const { apiKey } = await seller.stand.shop('Demo');
    const told: string[] = [];
    const pages = await hostedJourney(seller.baseUrl, apiKey, line => told.push(line));
    for (const url of Object.values(pages)) expect(told.join(' ')).toContain(url);
    const checkout = await seller.open(pages.checkout);
    await checkout.page.getByRole('button', { name: /^Buy now for €49/ }).waitFor();
    const portal = await seller.open(pages.portal);
    await portal.page.getByText('12 of 20').waitFor();
    const invoice = await seller.open(pages.invoice);
    await invoice.page.getByText('Workshop').first().waitFor();
  });

  it('of an expired session say what to do', async () => {
    const { user } = await seller.subscriber();
    const { url } = await seller.linkOf(user.email);
    await seller.expire(user.id);
    const { page } = await seller.open(url);
    await page.getByRole('heading', { name: 'This link has expired' }).waitFor();
    await page.getByRole('heading', { name: 'What you can do' }).waitFor();
    expect(await page.getByRole('listitem').count()).toBeGreaterThan(1);
  });

  it('of a plan with a session open its checkout, by the template that they name', async () => {
    const template = { name: 'Green', data: { color: '#0b7a3b', note: 'Cancel at any time' } };
    const { merchantCheckout } = await seller.post('/merchant/checkout/new_checkout', template);
    const { plan } = (await seller.get('/merchant/plan/detail', { planId: seller.plans.small })).plan;
    const { link } = await seller.get('/merchant/checkout/get_link', {
      planId: plan.id,
      checkoutId: merchantCheckout.id,
    });
    const noted: [string, number][] = [
      [plan.checkoutUrl, 0],
      [link, 1],
    ];
    for (const [url, notes] of noted) {
      const { clientSession } = await seller.linkOf((await seller.newUser()).email);
      const { page } = await seller.open(`${url}&session=${clientSession}`);
      await page.getByRole('button', { name: /^Buy now for €58\.31/ }).waitFor();
      expect(await page.getByText('Cancel at any time').count()).toBe(notes);
    }
  });

  it('of a plan without a session say that a personal link is needed', async () => {
    const { plan } = (await seller.get('/merchant/plan/detail', { planId: seller.plans.small })).plan;
    const { page } = await seller.open(plan.checkoutUrl);
    await page.getByRole('heading', { name: 'Please open your link' }).waitFor();
  });

  it('to change a plan lead to amounts that are those of the preview, to the cent', async () => {
    const { user, subscriptionId } = await seller.subscriber();
    const asked = { subscriptionId, newPlanId: seller.plans.large, quantity: 1 };
    const { url } = await seller.post('/merchant/session/user_sub_update_url', {
      userId: user.id,
      planId: seller.plans.large,
    });
    seller.secrets.add(/session\/([^/]+)/.exec(url)?.[1] ?? '');
    const { page } = await seller.open(url);
    await page.getByRole('heading', { name: 'Change plan' }).waitFor();
    // the plan that the link names is chosen already
    const button = page.getByRole('button', { name: /^Change now for/ });
    await button.waitFor();
    const { invoice, prorationDate } = await seller.post('/merchant/subscription/update_preview', asked);
    const euros = (amount: number) => `${amount < 0 ? '-' : ''}€${(Math.abs(amount) / 100).toFixed(2)}`;
    const shown = await page.locator('[aria-busy=false] td.amount').allTextContents();
    expect(prorationDate).toBeGreaterThan(0);
    expect(shown).toEqual(
      [
        ...invoice.lines.map(line => line.amountExcludingTax),
        invoice.totalAmountExcludingTax,
        ...invoice.taxes.map(({ tax }) => tax),
        invoice.totalAmount,
      ].map(euros),
    );
    expect(await button.textContent()).toBe(`Change now for ${euros(invoice.totalAmount)}`);
  });
});

describe('the usage of a period', () => {
  it('is shown in bars that say what the API says', async () => {
    const { planId, metricCode } = await seller.meteredPlan();
    const { user, subscriptionId } = await seller.subscriber(planId);
    await seller.use(user.id, metricCode, 3);
    const { page } = await seller.portal(user);
    const bar = page.getByRole('progressbar');
    await bar.waitFor();
    const { userMetric } = await seller.get('/merchant/metric/user/sub/metric', { subscriptionId });
    const [limit] = userMetric.limitStats;
    expect([await bar.getAttribute('value'), await bar.getAttribute('max')].map(Number)).toEqual([
      limit?.CurrentUsedValue,
      limit?.metricLimit?.TotalLimit,
    ]);
    expect(limit?.CurrentUsedValue).toBe(3);
    await page.getByText('3 of 10').waitFor();
  });
});

describe('tokens', () => {
  it('of users, sessions and links stand in no log of an app', async () => {
    const { user } = await seller.subscriber();
    const { page } = await seller.portal(user);
    await page.getByRole('button', { name: 'Change plan' }).waitFor();
    const invoice = await seller.open((await seller.newInvoice(seller.gateway.card)).link);
    await invoice.page.getByRole('button', { name: /^Pay €/ }).waitFor();
    await seller.stand.quiet();
    const folder = seller.stand.stack.home.logs;
    const logs = readdirSync(folder).map(file => readFileSync(path.join(folder, file), 'utf8'));
    expect(logs.join('')).toContain('"command":"identity.portal.session_exchange"');
    // of a user's token its signature is looked for, which no other has
    const parts = [...seller.secrets].map(secret => secret.split('.').at(-1) ?? '');
    expect(parts.filter(part => part.length < 20)).toEqual([]);
    expect(parts.length).toBeGreaterThan(3);
    expect(parts.filter(part => logs.some(log => log.includes(part)))).toEqual([]);
  });
});
