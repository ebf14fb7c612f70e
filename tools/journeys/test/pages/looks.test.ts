import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { pageWords } from '../../../../apps/gateway/src/pages/words/words.js';
import { isQuiet, type Look } from '../../browser.js';
import { faults, messagesOf, tooNarrow } from './accessibility.js';
import { closedAfterwards, type Seller, sharedSeller, until } from './seller.js';
import { cards } from './stripe.js';
import { cardField } from './stripe-fields.js';

closedAfterwards();

let seller: Seller;
let stripe: Seller;
beforeAll(async () => {
  seller = await sharedSeller();
  stripe = await sharedSeller('stripe');
});

type Say = (key: string) => string;
const start = (message: string) => message.split(/ ?\{/)[0] as string;
const press = (page: Page, name: string) => page.getByRole('button', { name }).first().click();
/** Opens all that is folded. */
const unfold = (page: Page) =>
  page.evaluate(`document.querySelectorAll('details').forEach(each => { each.open = true; })`);
const isCut = (page: Page, operation: string) => page.route(`**${operation}`, route => route.abort());

/** A checkout at which a card is typed into the fields of Stripe. */
async function typedCard(number: string, look: Look, say: Say): Promise<Page> {
  const { page } = await stripe.checkout(look);
  await page.getByRole('radio', { name: say('gateway.stripe') }).check();
  await (await cardField(page, 'Kartennummer')).fill(number);
  await press(page, start(say('checkout.buy')));
  await page.locator('.notice.bad').first().waitFor();
  return page;
}

/** A user with all that a portal can show: usage, an open invoice, credit, a change to come and saved methods. */
async function busyUser() {
  const metered = await seller.meteredPlan();
  const { user, subscriptionId } = await seller.subscriber(metered.planId);
  await seller.use(user.id, metered.metricCode, 7);
  const card = { gatewayId: seller.gateway.card, userId: user.id };
  await seller.post('/merchant/payment/method/new', { ...card, data: { scenario: 'needs_action' } });
  await seller.post('/merchant/credit/promo_credit_increment', { userId: user.id, currency: 'EUR', amount: 1_200 });
  await seller.newInvoice(seller.gateway.card, user.id);
  await seller.post('/merchant/subscription/update_submit', {
    subscriptionId,
    newPlanId: seller.plans.small,
    quantity: 1,
  });
  return user;
}

/** Every page in every state that looks different. */
const views: Readonly<Record<string, (look: Look, say: Say) => Promise<Page>>> = {
  checkout: async look => (await seller.checkout(look)).page,
  'checkout of a code that is none, and without an answer': async (look, say) => {
    const { page } = await seller.checkout(look);
    await isCut(page, '/portal/subscription/create_submit');
    await page.getByRole('textbox', { name: say('checkout.code') }).fill('NONE');
    await page.getByText(say('code.unknown')).waitFor();
    await press(page, start(say('checkout.buy')));
    await page.getByText(say('error.unreachable').slice(0, 12)).waitFor();
    return page;
  },
  'checkout that is declined': async (look, say) => {
    const { page } = await seller.checkout(look);
    await page.getByRole('radio', { name: 'Card' }).check();
    await page.getByLabel(say('pay.testCard')).selectOption('declines_hard');
    await press(page, start(say('checkout.buy')));
    await page.locator('.notice.bad').first().waitFor();
    return page;
  },
  'checkout of a plan with prices of usage': async (look, say) => {
    const { page } = await seller.checkoutOf(await seller.pricedPlan(), look);
    await page.getByRole('button', { name: start(say('checkout.buy')) }).waitFor();
    return page;
  },
  'checkout that is done': async (look, say) => {
    const { page } = await seller.checkoutOf(seller.plans.small, look);
    await page.getByRole('radio', { name: 'Card' }).check();
    await press(page, start(say('checkout.buy')));
    await page.getByText(say('checkout.done')).waitFor();
    return page;
  },
  'checkout of a card that is none': (look, say) => typedCard('4242', look, say),
  'checkout of a card that was not accepted': (look, say) => typedCard(cards.refusedWhenSaved, look, say),
  'checkout whose card fields cannot be loaded': async (look, say) => {
    const { page } = await stripe.checkout(look);
    await page.route('https://js.stripe.com/**', route => route.abort());
    await page.getByRole('radio', { name: say('gateway.stripe') }).check();
    await page.getByText(say('card.missing')).waitFor();
    return page;
  },
  'portal with card fields': async (look, say) => {
    const { page } = await stripe.portal(await stripe.newUser(), look);
    await page.getByText(say('methods.new')).click();
    await cardField(page);
    return page;
  },
  'invoice by a typed card': async look => {
    const { page } = await stripe.open((await stripe.newInvoice(stripe.gateway.card)).link, look);
    await cardField(page);
    return page;
  },
  portal: async (look, say) => {
    const { page } = await seller.portal(await busyUser(), look);
    await page.getByText(say('usage')).waitFor();
    await page.locator('header img').waitFor();
    await unfold(page);
    return page;
  },
  'portal that asks before it ends': async (look, say) => {
    const { page } = await seller.portal((await seller.subscriber()).user, look);
    await press(page, start(say('subscription.cancel')));
    await isCut(page, '/portal/subscription/cancel_at_period_end');
    await press(page, say('subscription.cancelNow'));
    await page.getByText(say('error.unreachable').slice(0, 12)).waitFor();
    return page;
  },
  'portal of one who has nothing': async (look, say) => {
    const { page } = await seller.portal(await seller.newUser(), look);
    await page.getByText(say('subscriptions.none')).waitFor();
    return page;
  },
  'change of plan': async (look, say) => {
    const { page } = await seller.portal((await seller.subscriber()).user, look);
    await press(page, say('change.title'));
    await page.getByRole('radio', { name: /Large/ }).check();
    await page.getByRole('button', { name: start(say('change.pay')) }).waitFor();
    await unfold(page);
    return page;
  },
  'invoice by card': async look => (await seller.open((await seller.newInvoice(seller.gateway.card)).link, look)).page,
  'invoice that is paid': async (look, say) => {
    const { page } = await seller.open((await seller.newInvoice(seller.gateway.card)).link, look);
    await press(page, start(say('pay.button')));
    await page.getByText(say('invoice.state.paid'), { exact: true }).waitFor();
    return page;
  },
  'invoice by transfer': async look => {
    const { page } = await seller.open((await seller.newInvoice(seller.gateway.wire)).link, look);
    await page.locator('.qr').waitFor();
    await unfold(page);
    return page;
  },
  'invoice that waits for its bank': async (look, say) => {
    const { page } = await seller.open((await seller.newInvoice(seller.gateway.card)).link, look);
    await page.getByLabel(say('pay.testCard')).selectOption('needs_action');
    await press(page, start(say('pay.button')));
    await page.getByRole('link', { name: say('pay.confirm') }).waitFor();
    return page;
  },
  'expired link': async look => {
    const user = await seller.newUser();
    const { url } = await seller.linkOf(user.email);
    await seller.expire(user.id);
    return (await seller.open(url, look)).page;
  },
  'session that is over': async (look, say) => {
    const { page } = await seller.portal((await seller.subscriber()).user, look);
    const refused = { status: 401, json: { code: 61, message: '', error: { type: 'token_invalid', issues: [] } } };
    await page.route('**/portal/subscription/cancel_at_period_end', route => route.fulfill(refused));
    await press(page, start(say('subscription.cancel')));
    await press(page, say('subscription.cancelNow'));
    await page.getByRole('heading', { name: say('expired.title.over') }).waitFor();
    return page;
  },
  'used link': async look => {
    const { url } = await seller.linkOf((await seller.newUser()).email);
    await seller.open(url);
    return (await seller.open(url, look)).page;
  },
  'no link': async look => (await seller.open(`${seller.baseUrl}/portal/`, look)).page,
  'unknown invoice': async look => (await seller.open(`${seller.baseUrl}/portal/invoice/none`, look)).page,
};

/** Notes what can be pressed and has been moved on a page by what came after it. */
const watchMoves = `
  window.moved = [];
  const pressed = 'main :is(button, a, input, select, summary)';
  new PerformanceObserver(list => {
    for (const { sources } of list.getEntries())
      for (const { node } of sources) {
        const element = node?.nodeType === Node.TEXT_NODE ? node.parentElement : node;
        if (element?.matches(pressed) || element?.querySelector(pressed)) window.moved.push(element.innerText);
      }
  }).observe({ type: 'layout-shift', buffered: true });`;

/** Pages of several answers, each with a button that it shows. */
const pagesOfParts: Readonly<Record<string, { url(): Promise<string>; shows: string }>> = {
  portal: {
    url: async () => (await seller.linkOf((await busyUser()).email)).url,
    shows: 'End the subscription',
  },
  checkout: {
    url: async () => {
      const { clientSession } = await seller.linkOf((await seller.newUser()).email);
      return `${seller.baseUrl}/portal/checkout?planId=${await seller.pricedPlan()}&session=${clientSession}`;
    },
    shows: 'Buy now',
  },
};

describe('a page that opens', () => {
  it.each([
    ['portal', 'last'],
    ['portal', 'first'],
    ['checkout', 'last'],
    ['checkout', 'first'],
  ])(
    'moves nothing that can be pressed as its answers come: %s, what it asked first coming %s',
    async (name, first) => {
      const { url, shows } = pagesOfParts[name] as (typeof pagesOfParts)[string];
      const { page } = await seller.open('about:blank');
      await page.addInitScript(watchMoves);
      let asked = 0;
      await page.route(/\/portal\/\w+\/\w+(\?|$)/, async route => {
        const place = asked++;
        const response = await route.fetch();
        await new Promise(resolve => setTimeout(resolve, 120 * (first === 'first' ? place : Math.max(8 - place, 0))));
        await route.fulfill({ response });
      });
      await page.goto(await url());
      await page.getByRole('button', { name: shows }).waitFor();
      await until(async () => isQuiet(page));
      expect(asked).toBeGreaterThan(4);
      expect(await page.evaluate('window.moved')).toEqual([]);
    },
  );
});

describe('every page', () => {
  it.each(Object.keys(views))(
    'has no serious fault of accessibility and fits, in German, Chinese and from right to left: %s',
    async name => {
      const view = views[name] as (look: Look, say: Say) => Promise<Page>;
      const page = await view({ locale: 'de-DE', width: 375 }, messagesOf('de'));
      await page.locator('main h1').waitFor();
      await until(async () => isQuiet(page));
      expect(await page.locator('html').getAttribute('lang')).toBe('de');
      expect(await tooNarrow(page, `${name} de`)).toEqual([]);
      expect(await faults(page)).toEqual([]);
      await page.getByRole('combobox', { name: messagesOf('de')('language') }).selectOption('zh');
      await page.locator('html[lang=zh]').waitFor({ state: 'attached' });
      expect(await tooNarrow(page, `${name} zh`)).toEqual([]);
      await page.evaluate(`document.documentElement.dir = 'rtl'`);
      expect(await tooNarrow(page, `${name} rtl`)).toEqual([]);
    },
  );

  it.each(['de', 'zh'] as const)(
    'of the gateway itself too, in %s: consent, code, the bank of the sandbox',
    async language => {
      const [look, words] = [{ locale: language, width: 375 }, pageWords[language]];
      const oauthUrl = async (returnUrl: string) => {
        const made = await seller.post('/merchant/webhook/webhook_automation_oauth_url', { returnUrl });
        const url = new URL(made.oauthUrl);
        url.searchParams.set('code_challenge', createHash('sha256').update('verifier').digest('base64url'));
        url.searchParams.set('code_challenge_method', 'S256');
        return url.href;
      };
      const { page } = await seller.open((await seller.newInvoice(seller.gateway.card)).link, look);
      const say = messagesOf(language);
      await page.getByLabel(say('pay.testCard')).selectOption('needs_action');
      await press(page, start(say('pay.button')));
      const bank = (await page.getByRole('link', { name: say('pay.confirm') }).getAttribute('href')) ?? '';
      const steps = [
        ['consent', await oauthUrl('https://automation.example.com/back'), undefined, words.connect],
        ['code', await oauthUrl(''), words.allow, words.code],
        ['refusal', `${seller.baseUrl}/oauth/authorize`, undefined, words.refused],
        ['bank', bank, undefined, words.payment],
        ['bank that has its answer', bank, words.approve, words.approved],
      ] as const;
      for (const [name, url, button, text] of steps) {
        const visit = await seller.open(url, look);
        if (button) await visit.page.getByRole('button', { name: button, exact: true }).click();
        await visit.page.getByText(text).waitFor();
        expect(await visit.page.locator('html').getAttribute('lang')).toBe(language);
        expect(await tooNarrow(visit.page, `${name} ${language}`)).toEqual([]);
        expect(await faults(visit.page)).toEqual([]);
        expect(visit.complaints).toEqual([]);
      }
    },
  );
});
