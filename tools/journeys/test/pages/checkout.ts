import { beforeAll, describe, expect, it } from '@jest/globals';
import { extractText, getDocumentProxy } from 'unpdf';
import type { Visit } from '../../browser.js';
import { fieldOf } from './cut.js';
import { type Seller, sharedSeller } from './seller.js';

let seller: Seller;
beforeAll(async () => {
  seller = await sharedSeller();
});

/** No other host was asked, no policy was broken, nothing is stored, and no secret is in a URL after the first. */
async function expectDiscreet({ page, urls, complaints }: Visit, ...secrets: string[]) {
  expect(complaints).toEqual([]);
  expect(urls.filter(url => !url.startsWith(seller.baseUrl) && !url.startsWith('data:'))).toEqual([]);
  expect(urls.slice(1).filter(url => secrets.some(secret => url.includes(secret)) || url.includes('eyJ'))).toEqual([]);
  expect(secrets.filter(secret => page.url().includes(secret))).toEqual([]);
  expect(await page.evaluate('localStorage.length + sessionStorage.length + document.cookie.length')).toBe(0);
}

describe('the checkout', () => {
  it('sells by wire transfer: the page follows until the money has arrived', async () => {
    const visit = await seller.checkout();
    const { page, user, clientSession } = visit;
    await page.getByRole('radio', { name: 'Bank transfer' }).check();
    await page.getByRole('button', { name: /^Buy now/ }).dblclick();
    await page.getByRole('heading', { name: 'Pay by bank transfer' }).waitFor();
    const [bought, ...others] = await seller.subscriptionsOf(user.id);
    expect(others).toEqual([]);
    const invoiceId = bought?.subscription.latestInvoiceId ?? '';
    await seller.post('/merchant/invoice/mark_wire_transfer_success', {
      invoiceId,
      transferNumber: 'T-1',
      reason: 'arrived',
    });
    await page.getByText('Thank you. Your subscription is active.').waitFor();
    await expectDiscreet(visit, clientSession);
    await page.waitForURL(`${seller.baseUrl}/docs?thanks`);
    expect((await seller.subscriptionsOf(user.id)).map(({ subscription }) => subscription.status)).toEqual([2]);
  });

  it('leaves another card to be tried when one is declined, and nothing is bought twice', async () => {
    const { page, user } = await seller.checkout();
    await page.getByRole('radio', { name: 'Card' }).check();
    await page.getByLabel('Test card').selectOption('declines_hard');
    await page.getByRole('button', { name: /^Buy now/ }).click();
    await page.getByText('The payment did not succeed.').waitFor();
    await page.getByRole('radio', { name: 'Card' }).check();
    await page.getByLabel('Test card').selectOption('succeeds');
    await page.getByRole('button', { name: /^Pay €58\.31/ }).click();
    await page.getByText('Thank you. Your subscription is active.').waitFor();
    expect((await seller.subscriptionsOf(user.id)).map(({ subscription }) => subscription.status)).toEqual([2]);
  });
});

describe('the gateways', () => {
  it('whose list does not arrive are asked for again; the page does not say that there are none', async () => {
    const { page } = await seller.open('about:blank');
    const { clientSession } = await seller.linkOf((await seller.newUser()).email);
    await page.route('**/portal/gateway/list', route => route.abort());
    await page.goto(`${seller.baseUrl}/portal/checkout?planId=${seller.plans.small}&session=${clientSession}`);
    await page.getByText('No answer came.').waitFor();
    expect(await page.getByText('There is no way to pay online').count()).toBe(0);
    await page.unroute('**/portal/gateway/list');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('button', { name: /^Buy now/ }).waitFor();
  });

  it('that do not hold another currency give way to one that does', async () => {
    const multiCurrencies = [{ currency: 'USD', fixedAmount: 5_500 }];
    const { page } = await seller.checkoutOf((await seller.newPlan('Abroad', 4900, { multiCurrencies })).id);
    await page.getByRole('radio', { name: 'Card' }).check();
    await page.getByRole('radio', { name: 'Bank transfer' }).check();
    await fieldOf(page, 'Currency').selectOption('USD');
    await page.getByRole('radio', { name: 'Bank transfer' }).waitFor({ state: 'detached' });
    expect(await page.getByRole('radio', { name: 'Card' }).isChecked()).toBe(true);
    await page.getByRole('button', { name: /^Buy now for \$65\.45/ }).click();
    await page.getByText('Thank you. Your subscription is active.').waitFor();
  });
});

it('a plan with prices of usage says what they are', async () => {
  const { page } = await seller.checkoutOf(await seller.pricedPlan());
  await page.getByRole('button', { name: /^Buy now/ }).waitFor();
  for (const price of [
    'Gigabytes: €0.12 per unit, the first 50 included',
    'Mails, by quantity',
    '1–1,000: €0.005 per unit, plus €5.00',
    '1,001+: €0.01 per unit',
  ])
    await page.getByText(price).first().waitFor();
});

describe('the page of an invoice', () => {
  it('has the logo and the colour of the merchant', async () => {
    const { page } = await seller.open((await seller.newInvoice(seller.gateway.card)).link);
    await page.getByRole('button', { name: /^Pay €/ }).waitFor();
    const colour = `getComputedStyle(document.querySelector('button[type=submit]')).backgroundColor`;
    expect(await page.evaluate(colour)).toBe('rgb(122, 31, 92)');
    expect(await page.locator('header img').getAttribute('src')).toMatch(/^data:image\/svg/);
  });

  it('waits for the bank of a card that needs action', async () => {
    const { link, invoiceId } = await seller.newInvoice(seller.gateway.card);
    const { page } = await seller.open(link);
    await page.getByLabel('Test card').selectOption('needs_action');
    await page.getByRole('button', { name: /^Pay €117\.81/ }).click();
    const bank = (await page.getByRole('link', { name: 'Confirm payment' }).getAttribute('href')) ?? '';
    await fetch(bank, { method: 'POST', body: new URLSearchParams({ answer: 'approve' }) });
    await page.getByText('Paid', { exact: true }).waitFor();
    expect((await seller.get('/merchant/invoice/detail', { invoiceId })).invoice.status).toBe(3);
  });

  it('follows to the outcome where an answer takes longer than the pause between two looks', async () => {
    const { link, invoiceId } = await seller.newInvoice(seller.gateway.wire);
    const { page } = await seller.open(link);
    await page.getByRole('heading', { name: 'Pay by bank transfer' }).waitFor();
    await page.route('**/portal/invoice/open', async route => {
      const response = await route.fetch();
      await new Promise(resolve => setTimeout(resolve, 2_500));
      await route.fulfill({ response });
    });
    const arrived = { invoiceId, transferNumber: 'T-2', reason: 'arrived' };
    await seller.post('/merchant/invoice/mark_wire_transfer_success', arrived);
    await page.getByText('Paid', { exact: true }).waitFor();
  });

  it('leads to the PDF, which says the same', async () => {
    const { link, number } = await seller.newInvoice(seller.gateway.wire);
    const { page } = await seller.open(link);
    const pdf = (await page.getByRole('link', { name: 'Open PDF' }).getAttribute('href')) ?? '';
    const bytes = new Uint8Array(await (await fetch(pdf)).arrayBuffer());
    const { text } = await extractText(await getDocumentProxy(bytes), { mergePages: true });
    for (const words of [number, 'Workshop', '117.81']) {
      expect(text).toContain(words);
      await page.getByText(words).first().waitFor();
    }
  });

  it('of a link that is none says so', async () => {
    const { page } = await seller.open(`${seller.baseUrl}/portal/invoice/none`);
    await page.getByRole('heading', { name: 'This invoice was not found' }).waitFor();
  });
});

describe('a link of a client session', () => {
  it('opens once; afterwards the page says what to do', async () => {
    const { user } = await seller.subscriber();
    const { url, clientSession } = await seller.linkOf(user.email);
    const visit = await seller.open(url);
    await visit.page.getByRole('heading', { name: 'Small' }).waitFor();
    await expectDiscreet(visit, clientSession);
    const again = await seller.open(url);
    await again.page.getByRole('heading', { name: 'This link has already been used' }).waitFor();
    await visit.page.reload();
    await visit.page.getByRole('heading', { name: 'Please open your link' }).waitFor();
  });

  it('shows nothing of another user', async () => {
    const [one, other] = [await seller.subscriber(), await seller.subscriber()];
    const { page } = await seller.portal(one.user);
    await page.getByRole('heading', { name: 'Small' }).waitFor();
    const invoices = await seller.invoicesOf(other.user.id);
    expect(invoices.length).toBeGreaterThan(0);
    const text = await page.locator('main').textContent();
    expect(invoices.filter(({ number }) => text?.includes(number))).toEqual([]);
    expect(await page.getByRole('heading', { name: 'Small' }).count()).toBe(1);
  });
});

describe('the change of a plan', () => {
  it('upgrades at once for what the API previews, to the cent', async () => {
    const { user, subscriptionId } = await seller.subscriber();
    const preview = await seller.post('/merchant/subscription/update_preview', {
      subscriptionId,
      newPlanId: seller.plans.large,
      quantity: 1,
    });
    const { page } = await seller.portal(user);
    await page.getByRole('button', { name: 'Change plan' }).click();
    await page.getByRole('radio', { name: /Large/ }).check();
    const button = page.getByRole('button', { name: /^Change now for/ });
    expect(await button.textContent()).toBe(`Change now for €${(preview.totalAmount / 100).toFixed(2)}`);
    await button.dblclick();
    await page.getByText('The change was made.').waitFor();
    const { planId, latestInvoiceId } = await seller.subscriptionOf(subscriptionId);
    expect(planId).toBe(seller.plans.large);
    const { invoice } = await seller.get('/merchant/invoice/detail', { invoiceId: latestInvoiceId });
    expect(invoice.totalAmount).toBe(preview.totalAmount);
  });

  it('is taken back, as is the end of the subscription', async () => {
    const { user, subscriptionId } = await seller.subscriber();
    const { page } = await seller.portal(user);
    await page.getByRole('button', { name: 'End the subscription' }).click();
    await page.getByRole('button', { name: 'End at the end of the period' }).click();
    await page.getByText('Your subscription ends on').waitFor();
    expect((await seller.subscriptionOf(subscriptionId)).cancelAtPeriodEnd).toBe(1);
    await page.getByRole('button', { name: 'Keep the subscription' }).click();
    await page.getByRole('button', { name: 'Change plan' }).waitFor();
    expect((await seller.subscriptionOf(subscriptionId)).cancelAtPeriodEnd).toBe(0);
  });
});
