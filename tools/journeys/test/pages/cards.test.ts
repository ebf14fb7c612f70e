import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { services } from '@recur/contracts';
import type { Page } from 'playwright-core';
import type { Look, Visit } from '../../browser.js';
import { type Cut, pressThroughCut, type Submit } from './cut.js';
import { closedAfterwards, type Seller, sharedSeller, until } from './seller.js';
import { cards, publishableKey } from './stripe.js';
import { cardField } from './stripe-fields.js';

closedAfterwards();

let seller: Seller;
beforeAll(async () => {
  seller = await sharedSeller('stripe');
});

/** Every visit of this file: what they sent is looked through at its end. */
const visits: Visit[] = [];
const noted = <V extends Visit>(visit: V): V => {
  visits.push(visit);
  return visit;
};

const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).first().click();
const type = async (page: Page, number: string) => (await cardField(page)).fill(number);
const thanks = (page: Page) => page.getByText('Thank you. Your subscription is active.').waitFor();
const statesOf = async (userId: number) =>
  (await seller.subscriptionsOf(userId)).map(({ subscription }) => subscription.status);
const ACTIVE = 2;

/** A checkout at which a card is to be typed. */
async function checkout(look?: Look) {
  const visit = noted(await seller.checkout(look));
  await visit.page.getByRole('radio', { name: look?.locale === 'de-DE' ? 'Karte' : 'Card' }).check();
  return visit;
}

/** The page of an invoice by card. */
async function invoiceByCard() {
  const made = await seller.newInvoice(seller.gateway.card);
  return { ...noted(await seller.open(made.link)), ...made };
}

/** The portal, at the fields of another card. */
async function portal() {
  const user = await seller.newUser();
  const visit = noted(await seller.portal(user));
  await visit.page.getByText('Add a payment method').click();
  return { ...visit, user };
}

const hostsOf = ({ urls }: Visit) =>
  new Set(urls.filter(url => !url.startsWith('data:')).map(url => new URL(url).origin));

describe('a card of Stripe', () => {
  it('is typed into frames of Stripe at the checkout, which is asked nothing before, and charged once', async () => {
    const visit = noted(await seller.checkout());
    const { page, user, complaints } = visit;
    const start = new Set([seller.baseUrl]);
    expect(hostsOf(visit)).toEqual(start);
    await page.getByRole('radio', { name: 'Card' }).check();
    await type(page, cards.succeeds);
    expect(
      await page.locator('input').evaluateAll(all => all.map(each => (each as { value?: string }).value)),
    ).not.toContain(cards.succeeds);
    await page.getByRole('button', { name: /^Buy now/ }).dblclick();
    await thanks(page);
    expect(await statesOf(user.id)).toEqual([ACTIVE]);
    expect(seller.stripe.chargesOf(user.id)).toEqual([['4242', true]]);
    expect(hostsOf(visit)).toEqual(new Set([...start, 'https://js.stripe.com', 'https://api.stripe.com']));
    expect(complaints).toEqual([]);
  });

  it('that is none leaves no order behind; nor does one that cannot be read', async () => {
    const { page, user } = await checkout();
    await type(page, '4242');
    await press(page, /^Buy now/);
    await page.getByText('Your card number is incomplete.').waitFor();
    await type(page, cards.succeeds);
    await page.getByText('Your card number is incomplete.').waitFor({ state: 'detached' });
    await page.route('https://api.stripe.com/**', route => route.abort());
    await press(page, /^Buy now/);
    await page.getByText('Your card could not be checked.').waitFor();
    expect(await seller.subscriptionsOf(user.id)).toEqual([]);
    await page.unroute('https://api.stripe.com/**');
    await press(page, /^Buy now/);
    await thanks(page);
    expect(seller.stripe.chargesOf(user.id)).toEqual([['4242', true]]);
  });

  it.each([
    ['Stripe does not save', cards.refusedWhenSaved, 'The card was not accepted.', []],
    ['is declined', cards.declinedWhenCharged, 'There is not enough money', [['0341', false]]],
  ])('that %s buys nothing; another one does', async (_, number, said, charged) => {
    const { page, user } = await checkout();
    await type(page, number);
    await press(page, /^Buy now/);
    await page.getByText(said).waitFor();
    expect(seller.stripe.chargesOf(user.id)).toEqual(charged);
    expect(await statesOf(user.id)).not.toContain(ACTIVE);
    await page.getByRole('radio', { name: 'New: Card' }).check();
    await type(page, cards.succeeds);
    await press(page, /^Pay €58\.31/);
    await thanks(page);
    expect(await statesOf(user.id)).toEqual([ACTIVE]);
    expect(seller.stripe.chargesOf(user.id)).toEqual([...charged, ['4242', true]]);
  });

  it('is saved before an order that costs nothing now, as a trial may demand; its bank is asked first', async () => {
    const trial = { trialDurationTime: 14 * 86_400, trialDemand: 'paymentMethod' as const };
    const plan = await seller.newPlan('Trial', 4900, trial);
    const user = await seller.newUser();
    const { clientSession } = await seller.linkOf(user.email);
    const { page } = noted(
      await seller.open(`${seller.baseUrl}/portal/checkout?planId=${plan.id}&session=${clientSession}`),
    );
    await page.getByRole('radio', { name: 'Card' }).check();
    await type(page, cards.asksWhenSaved);
    await press(page, /^Buy now for €0\.00/);
    const link = page.getByRole('link', { name: 'Open the payment page' });
    expect(await link.getAttribute('href')).toBe('https://hooks.stripe.com/redirect/authenticate');
    expect(await seller.subscriptionsOf(user.id)).toEqual([]);
    await type(page, cards.succeeds);
    await press(page, /^Buy now for €0\.00/);
    await thanks(page);
    expect(seller.stripe.chargesOf(user.id)).toEqual([]);
    const [bought] = await seller.subscriptionsOf(user.id);
    const asked = { gatewayId: seller.gateway.card, userId: user.id };
    const { methodList } = await seller.get('/merchant/payment/method_list', asked);
    expect(bought?.subscription).toMatchObject({ status: ACTIVE, defaultPaymentMethodId: methodList[0]?.id });
  });

  it('pays an invoice by its link', async () => {
    const { page, userId } = await invoiceByCard();
    await type(page, cards.succeeds);
    await page.getByRole('button', { name: /^Pay €117\.81/ }).dblclick();
    await page.getByText('Paid', { exact: true }).waitFor();
    expect(seller.stripe.chargesOf(userId)).toEqual([['4242', true]]);
  });

  it('is added in the portal, which then has empty fields', async () => {
    const { page } = await portal();
    await type(page, cards.succeeds);
    await press(page, 'Add');
    await page.getByText('visa •••• 4242').waitFor();
    expect(await (await cardField(page)).inputValue()).toBe('');
  });

  it('that is typed over another one is the one that is charged', async () => {
    const { page, userId } = await invoiceByCard();
    await type(page, cards.declinedWhenCharged);
    await press(page, /^Pay €/);
    await page.getByText('There is not enough money').waitFor();
    await type(page, cards.succeeds);
    await press(page, /^Pay €/);
    await page.getByText('Paid', { exact: true }).waitFor();
    expect(seller.stripe.chargesOf(userId)).toEqual([
      ['0341', false],
      ['4242', true],
    ]);
  });

  it('that was refused is asked about anew when it is sent again', async () => {
    const { page } = await portal();
    await type(page, cards.refusedAtFirst);
    await press(page, 'Add');
    await page.getByText('The card was not accepted.').waitFor();
    await press(page, 'Add');
    await page.getByText('visa •••• 0119').waitFor();
  });

  it('that is confirmed on another page appears in the portal, and the way there goes', async () => {
    const { page, user } = await portal();
    await type(page, cards.asksWhenSaved);
    await press(page, 'Add');
    const link = page.getByRole('link', { name: 'Open the payment page' });
    await link.waitFor();
    const { id } = seller.stripe.keep(cards.succeeds);
    const confirmed = { gatewayId: seller.gateway.card, userId: user.id, data: { paymentMethodId: id } };
    await seller.post('/merchant/payment/method/new', confirmed);
    await page.getByText('visa •••• 4242').waitFor();
    await link.waitFor({ state: 'detached' });
  });

  it('whose bank asks leads to the page of the bank', async () => {
    const { page, userId } = await invoiceByCard();
    await type(page, cards.asksWhenSaved);
    await press(page, /^Pay €/);
    const link = page.getByRole('link', { name: 'Open the payment page' });
    expect(await link.getAttribute('href')).toBe('https://hooks.stripe.com/redirect/authenticate');
    expect(seller.stripe.chargesOf(userId)).toEqual([]);
  });

  it('is entered on a page of Stripe where no publishable key is set up', async () => {
    const setKey = (gatewayKey: string) =>
      seller.post('/merchant/gateway/edit', { gatewayId: seller.gateway.card, gatewayKey });
    await setKey('sk_test_in_the_wrong_field');
    const visit = await invoiceByCard();
    await press(visit.page, /^Pay €/);
    const link = visit.page.getByRole('link', { name: 'Open the payment page' });
    expect(await link.getAttribute('href')).toBe('https://checkout.stripe.com/c/pay');
    expect(hostsOf(visit)).toEqual(new Set([seller.baseUrl]));
    await setKey(publishableKey);
  });
});

describe('the card fields', () => {
  it('that cannot be loaded say so, and are loaded when tried again; what was entered stays', async () => {
    const visit = noted(await seller.checkout());
    const { page } = visit;
    await page.getByRole('textbox', { name: 'City' }).fill('Ulm');
    await page.route('https://js.stripe.com/**', route => route.abort());
    await page.getByRole('radio', { name: 'Card' }).check();
    await page.getByText('The fields for your card could not be loaded.').waitFor();
    await press(page, /^Buy now/);
    await page.unroute('https://js.stripe.com/**');
    await press(page, 'Try again');
    await type(page, cards.succeeds);
    expect(await page.getByRole('textbox', { name: 'City' }).inputValue()).toBe('Ulm');
    expect(await seller.subscriptionsOf(visit.user.id)).toEqual([]);
  });

  it('speak the language of the reader and have the look of the page; what was typed stays when these change', async () => {
    const { page } = await checkout({ locale: 'de-DE' });
    const number = await cardField(page, 'Kartennummer');
    await number.fill('4242');
    await press(page, /kaufen|bestellen/);
    await page.getByText('Die Kartennummer ist unvollständig.').waitFor();
    await page.getByRole('combobox', { name: 'Sprache' }).selectOption('zh');
    const renamed = await cardField(page, '卡号');
    await renamed.waitFor();
    const inside = () => renamed.evaluate(input => getComputedStyle(input).color);
    const outside = () => page.evaluate(() => getComputedStyle(document.body).color);
    const seen = new Set<string>();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await until(async () => (await inside()) === (await outside()));
      seen.add(await inside());
    }
    expect(seen.size).toBe(2);
    expect(await renamed.inputValue()).toBe('4242');
  });

  it('keep what they say of a card in another theme; another language takes it away', async () => {
    const { page } = await checkout();
    const number = await cardField(page);
    await number.fill('4242');
    await press(page, /^Buy now/);
    const said = page.getByText('Your card number is incomplete.');
    await said.waitFor();
    const colour = () => number.evaluate(input => getComputedStyle(input).color);
    const before = await colour();
    await page.emulateMedia({ colorScheme: 'dark' });
    await until(async () => (await colour()) !== before);
    expect(await said.count()).toBe(1);
    await page.getByRole('combobox', { name: 'Language' }).selectOption('zh');
    await said.waitFor({ state: 'detached' });
  });

  it('are reached and filled in by the keyboard', async () => {
    const { page, user } = await checkout();
    const number = await cardField(page);
    await page.getByRole('radio', { name: 'Card' }).focus();
    await page.keyboard.press('Tab');
    await page.keyboard.type(cards.succeeds);
    expect(await number.inputValue()).toBe(cards.succeeds);
    // a button that waits for the amounts takes no focus
    await page.locator('button[type=submit]:enabled').focus();
    await page.keyboard.press('Enter');
    await thanks(page);
    expect(seller.stripe.chargesOf(user.id)).toEqual([['4242', true]]);
  });
});

/** The page with a card typed into it. */
async function typed(page: Page): Promise<Page> {
  await type(page, cards.succeeds);
  return page;
}

/** The submits of a typed card. */
const submits: Readonly<Record<string, () => Promise<Submit>>> = {
  'an order': async () => {
    const { page, user } = await checkout();
    const effects = async () => (await seller.subscriptionsOf(user.id)).length;
    const done = 'Thank you. Your subscription is active.';
    return {
      visit: () => typed(page),
      operation: '/portal/subscription/create_submit',
      button: /^Buy now/,
      done,
      effects,
    };
  },
  'the payment of an order': async () => {
    const { page, user } = await checkout();
    const effects = async () => seller.stripe.chargesOf(user.id).length;
    const [button, again] = [/^Buy now/, /^Pay €/];
    return {
      visit: () => typed(page),
      operation: '/portal/invoice/pay',
      button,
      again,
      done: /^Paid on|Thank you/,
      effects,
    };
  },
  'an invoice of a link': async () => {
    const { page, userId } = await invoiceByCard();
    const effects = async () => seller.stripe.chargesOf(userId).length;
    return {
      visit: () => typed(page),
      operation: '/portal/invoice/pay_link',
      button: /^Pay €/,
      done: /^Paid on/,
      effects,
    };
  },
  'a new card of the portal': async () => {
    const { page, user } = await portal();
    const saved = `select count(*) as n from payment_methods where user_id = ${user.id}`;
    const effects = async () => Number((await seller.stand.ask('billing', saved))[0]?.n);
    return {
      visit: () => typed(page),
      operation: '/portal/payment_method/new',
      button: 'Add',
      done: '· default',
      effects,
    };
  },
};

describe('the network is cut at', () => {
  const cuts = ['before', 'after'] as const;
  it.each(Object.keys(submits).flatMap(name => cuts.map((cut): [string, Cut] => [name, cut])))(
    '%s by a typed card, %s it was done: the same card, read once, is charged or saved once',
    async (name, cut) => {
      const submit = await (submits[name] as () => Promise<Submit>)();
      const before = seller.stripe.kept().length;
      await pressThroughCut(cut, submit);
      expect(seller.stripe.kept().length - before).toBe(1);
    },
  );
});

describe('the number of a card', () => {
  it('is in no request to recur, in no log and in no table', async () => {
    await seller.stand.quiet();
    const folder = seller.stand.stack.home.logs;
    const logs = readdirSync(folder).map(file => readFileSync(path.join(folder, file), 'utf8'));
    const sent = visits.flatMap(({ urls, bodies }) => [...urls, ...bodies]);
    const toRecur = sent.filter(each => each.startsWith(seller.baseUrl));
    const tablesWith = async (text: string) => {
      const found: string[] = [];
      for (const service of services) {
        const named = `select table_name from information_schema.tables where table_schema = 'public'`;
        for (const { table_name: table } of await seller.stand.ask(service, named)) {
          const rows = `select 1 from "${table}" t where replace(t::text, ' ', '') like '%${text}%' limit 1`;
          if ((await seller.stand.ask(service, rows)).length > 0) found.push(`${service}.${table}`);
        }
      }
      return found;
    };
    const holdersOf = async (text: string) => [
      ...toRecur.filter(each => decodeURIComponent(each).replaceAll(/[ +]/g, '').includes(text)),
      ...logs.filter(log => log.replaceAll(' ', '').includes(text)),
      ...(await tablesWith(text)),
    ];
    const hosts = new Set(visits.flatMap(visit => [...hostsOf(visit)]));
    expect(hosts).toEqual(new Set([seller.baseUrl, 'https://js.stripe.com', 'https://api.stripe.com']));
    expect(visits.flatMap(({ complaints }) => complaints)).toEqual([]);
    for (const number of Object.values(cards)) expect(await holdersOf(number)).toEqual([]);
    // the id of a card is found there, as its number would be
    const [id = 'none'] = seller.stripe.kept();
    expect(toRecur.filter(each => each.includes(id)).length).toBeGreaterThan(0);
    expect(await tablesWith(id)).toContain('billing.payment_methods');
    expect(logs.join('')).toContain('"command":"billing.portal.invoice_pay"');
    expect(sent.filter(each => each.includes(cards.succeeds)).length).toBeGreaterThan(5);
  });
});
