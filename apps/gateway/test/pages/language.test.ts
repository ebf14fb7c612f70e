import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Language, locales } from '@recur/kernel';
import { wordGaps } from '@recur/platform/testing';
import { pageWords } from '../../src/pages/words/words.js';
import { Services, signingKey, TestGateway, TestNats } from '../stand.js';

const languages = Object.keys(locales) as Language[];
const question = { state: 'open', amount: 123_456, currency: 'EUR' };
/** The amount as each language writes it. */
const amounts: Record<Language, string> = {
  en: '€1,234.56',
  de: '1.234,56 €',
  es: '1234,56 €',
  fr: '1 234,56 €',
  zh: '€1,234.56',
};

let nats: TestNats;
let services: Services;
let gateway: TestGateway;
/** The answer of billing and of notification. */
let answer: object;

beforeAll(async () => {
  nats = await TestNats.start();
  services = await Services.start(nats.url, [(await signingKey('k1')).jwk], ['identity']);
  for (const service of ['billing', 'notification'] as const)
    await services.bus.serve(service, async () => ({ ok: true, bytes: JSON.stringify(answer) }));
  gateway = await (await TestGateway.start(nats.url)).ready();
});
afterAll(async () => {
  await TestGateway.stopAll();
  await services.stop();
  await nats.close();
});

/** The page at a path, as a browser in a language gets it. */
const read = async (path: string, language: string) => {
  const page = await gateway.send(path, { headers: { 'accept-language': `ru, ${language}-XX;q=0.9, en;q=0.8` } });
  return { ...page, plain: page.text.replaceAll(/[\u00a0\u202f]/g, ' ').replaceAll('&#39;', "'") };
};

it('the words of the pages are there in every language, with the same placeholders', () => {
  expect(Object.keys(pageWords).sort()).toEqual([...languages].sort());
  for (const words of Object.values(pageWords)) expect(wordGaps({ ...pageWords.en }, { ...words })).toEqual([]);
});

describe.each(languages)('in %s', language => {
  const words = pageWords[language];

  it('a bank asks, with the amount as the language writes it', async () => {
    answer = question;
    const { plain, headers } = await read('/gateway/7/sandbox/sbx_1', language);
    expect(plain).toContain(`<html lang="${language}">`);
    expect(plain).toContain(`<strong>${amounts[language]}</strong>`);
    for (const text of [words.payment, words.approve, words.decline]) expect(plain).toContain(text);
    expect([headers.vary, headers['cache-control']]).toEqual(['accept-language', 'no-store']);
  });

  it.each(['approved', 'declined'] as const)('it says what was %s', async state => {
    answer = { ...question, state };
    expect((await read('/gateway/7/sandbox/sbx_1', language)).plain).toContain(words[state]);
  });

  it('a platform asks to be connected, by its name and the merchant set off', async () => {
    answer = { kind: 'consent', merchantId: 15, returnUrl: 'https://platform.example/back', fields: { state: '"x"' } };
    const { plain, headers } = await read('/oauth/authorize', language);
    const [before, between, after] = words.connectWho.split(/\{\w+\}/);
    expect(plain).toContain(`${before}<strong>platform.example</strong>${between}<strong>15</strong>${after}`);
    for (const text of [words.connectEvents, words.allow, words.deny]) expect(plain).toContain(text);
    expect(plain).toContain('name="state" value="&quot;x&quot;"');
    expect(headers['content-security-policy']).toMatch(/form-action 'self' https:\/\/platform.example$/);
    expect(headers.vary).toBe('accept-language');
  });

  it.each([
    ['stale', 'refusedStale'],
    ['elsewhere', 'refusedElsewhere'],
  ] as const)('it is refused as %s', async (reason, key) => {
    answer = { kind: 'refusal', reason };
    const { status, plain } = await read('/oauth/authorize', language);
    expect(status).toBe(400);
    for (const text of [words.refused, words[key]]) expect(plain).toContain(text);
  });

  it.each([
    ['code=abc', 'code', 'codeUse'],
    ['error=access_denied', 'notConnected', 'notConnectedDenied'],
    ['error=other', 'notConnected', 'notConnectedNoCode'],
  ] as const)('the page for a code says what came: %s', async (query, title, text) => {
    const { plain } = await read(`/oauth/code?${query}`, language);
    for (const key of [title, text] as const) expect(plain).toContain(words[key]);
  });
});
