import type { BrowserContext, Locator, Page } from 'playwright-core';
import type { StandInStripe } from './stripe.js';

const title = 'Secure payment input frame';

/** Stands in for the script of Stripe: its fields are inputs in a frame of Stripe's host, which the page cannot see into. */
const script = `
const host = 'https://js.stripe.com';
function elementsOf(key, { locale, appearance }) {
  const frame = document.createElement('iframe');
  const told = {};
  const ask = question => new Promise(answer => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }) => answer(data);
    frame.contentWindow.postMessage(question, host, [port2]);
  });
  addEventListener('message', ({ source, data }) => {
    if (source === frame.contentWindow) told[data]?.();
  });
  const element = {
    on: (event, handler) => { told[event] = handler; },
    mount: async place => {
      frame.title = '${title}';
      frame.style.cssText = 'border: 0; width: 100%; height: 12rem';
      frame.src = host + '/fields?' + new URLSearchParams({ key });
      frame.onload = () => ask({ locale, ...appearance.variables }).then(() => told.ready());
      const session = await fetch('https://api.stripe.com/v1/elements/sessions?' + new URLSearchParams({ key }));
      if (session.ok) place.append(frame);
      else told.loaderror({ error: { message: 'no session' } });
    },
    destroy: () => frame.remove(),
  };
  return {
    ask,
    create: () => element,
    getElement: () => element,
    update: ({ locale, appearance }) => { ask({ ...locale && { locale }, ...appearance?.variables }); },
    submit: () => ask('submit'),
  };
}
window.Stripe = key => ({
  elements: options => elementsOf(key, options),
  createPaymentMethod: ({ elements }) => elements.ask('create'),
});
window.Stripe.version = 'endive';
`;

const frame = `<!doctype html>
<html lang="en">
<title>${title}</title>
<style>body { margin: 0; font-family: system-ui } label, input { display: block; width: 100%; box-sizing: border-box }
  input { font: inherit; background: none; color: inherit; border: 1px solid }</style>
<label><span></span><input name="number" inputmode="numeric" autocomplete="cc-number"></label>
<label><span></span><input name="expiry" inputmode="numeric" autocomplete="cc-exp"></label>
<label><span></span><input name="cvc" inputmode="numeric" autocomplete="cc-csc"></label>
<script>
const words = {
  en: ['Card number', 'Expiration date', 'Security code', 'Your card number is incomplete.'],
  de: ['Kartennummer', 'Gültig bis', 'Prüfziffer', 'Die Kartennummer ist unvollständig.'],
  zh: ['卡号', '有效期', '安全码', '您的卡号不完整。'],
};
let said = words.en;
const inputs = [...document.querySelectorAll('input')];
const tell = what => parent.postMessage(what, '*');
const [number] = inputs;
const isComplete = () => number.value.replace(/ /g, '').length === 16;
const isEmpty = () => inputs.every(input => input.value === '');
// told as Stripe tells it: where these two are others, and not of every key
let told = [false, true].join();
const change = () => {
  const now = [isComplete(), isEmpty()].join();
  if (now !== told) tell('change');
  told = now;
};
for (const input of inputs) input.oninput = change;
addEventListener('focusin', ({ relatedTarget }) => { if (relatedTarget === null) tell('focus'); });
const invalid = () => isComplete() ? {} : { error: { type: 'validation_error', message: said[3] } };
async function create() {
  const key = new URLSearchParams(location.search).get('key');
  const body = new URLSearchParams({ key, type: 'card', 'card[number]': number.value.replace(/ /g, '') });
  try {
    const answer = await fetch('https://api.stripe.com/v1/payment_methods', { method: 'POST', body });
    return { paymentMethod: await answer.json() };
  } catch {
    return { error: { type: 'api_connection_error', message: 'A message for developers' } };
  }
}
addEventListener('message', async ({ data, ports: [port] }) => {
  if (data === 'submit') return port.postMessage(invalid());
  if (data === 'create') return port.postMessage(await create());
  if (data.locale) {
    said = words[data.locale];
    document.documentElement.lang = data.locale;
    document.querySelectorAll('span').forEach((label, at) => { label.textContent = said[at]; });
    tell('change');
  }
  if (data.colorText) {
    document.body.style.color = data.colorText;
    document.body.style.background = data.colorBackground;
  }
  port.postMessage('shown');
});
</script>`;

/** Has the hosts of Stripe answered by the stand-in, for all pages of a context. */
export async function routeToStripe(context: BrowserContext, stripe: StandInStripe): Promise<void> {
  await context.route('https://js.stripe.com/**', (route, request) =>
    request.url().includes('/fields')
      ? route.fulfill({ contentType: 'text/html; charset=utf-8', body: frame })
      : route.fulfill({ contentType: 'text/javascript; charset=utf-8', body: script }),
  );
  await context.route('https://api.stripe.com/**', (route, request) => {
    const headers = { 'access-control-allow-origin': '*' };
    const number = new URLSearchParams(request.postData() ?? '').get('card[number]');
    return route.fulfill({ headers, json: number === null ? {} : stripe.keep(number) });
  });
}

/** An input of the card fields, once they are there. */
export async function cardField(page: Page, label = 'Card number'): Promise<Locator> {
  await page.locator('fieldset[aria-busy=false]').waitFor();
  return page.frameLocator(`iframe[title="${title}"]`).getByLabel(label);
}
