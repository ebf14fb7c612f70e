import { expect } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { isQuiet } from '../../browser.js';
import { until } from './seller.js';

/** A submit of a page. */
export interface Submit {
  /** Opens the page so far that its button can be pressed; each time in a tab of its own. */
  visit(): Promise<Page>;
  /** The operation that the button calls. */
  operation: string;
  button: string | RegExp;
  /** The button after a failure, where it is another. */
  again?: string | RegExp;
  /** Fields that were filled in, by their label, with the value they keep. */
  typed?: Readonly<Record<string, string>>;
  /** Text that appears once it was done, and is not there before; or a button that is gone then. */
  done: string | RegExp | { gone: string };
  /** How often it was done, as the API or the database tells. */
  effects(): Promise<number>;
}

/** A field by its label; that of a list contains all its options, so it is not looked for by its text. */
export const fieldOf = (page: Page, label: string) =>
  page
    .getByRole('textbox', { name: label })
    .or(page.getByRole('spinbutton', { name: label }))
    .or(page.getByRole('combobox', { name: label }));

/** Waits until the page says that it was done. */
const saying = (page: Page, done: Submit['done']): Promise<void> =>
  typeof done === 'object' && 'gone' in done
    ? page.getByRole('button', { name: done.gone }).waitFor({ state: 'detached' })
    : page.getByText(done).first().waitFor();

/** Waits for the page with its button; it must not say then that it was done. */
async function assertUnsaid(page: Page, { button, done }: Submit): Promise<void> {
  await page.getByRole('button', { name: button }).first().waitFor();
  // a first answer that came later would tell already of what is done now
  await until(async () => isQuiet(page));
  if (typeof done === 'object' && 'gone' in done) await page.getByRole('button', { name: done.gone }).waitFor();
  else expect(await page.getByText(done).count()).toBe(0);
}

/**
 * Where a request is lost: on its way to the server, or its answer on the way back; in place of a garbled one, something
 * between answers a page of its own.
 */
export type Cut = 'before' | 'after' | 'garbled';

/**
 * Presses the button while the network is cut, at every attempt of the client, and again when it is back: the page says
 * that no answer came, keeps what was typed, and it is done once. What the page asks meanwhile waits until the second
 * answer is there.
 */
export async function pressThroughCut(cut: Cut, submit: Submit): Promise<void> {
  const { operation, button, again = button, typed = {}, done, effects } = submit;
  const page = await submit.visit();
  const typedNow = async () => {
    const fields = Object.keys(typed).map(async label => [label, await fieldOf(page, label).inputValue()]);
    return Object.fromEntries(await Promise.all(fields));
  };
  const at = (url: URL) => url.pathname === operation;
  const elsewhere = (url: URL) => /^\/portal\/\w+\/\w+$/.test(url.pathname) && !at(url);
  const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click();
  await assertUnsaid(page, submit);
  expect({ typed: await typedNow(), effects: await effects() }).toEqual({ typed, effects: 0 });

  let isCut = false;
  const held: Route[] = [];
  await page.route(elsewhere, route => (isCut ? void held.push(route) : route.continue()));
  await page.route(at, async route => {
    isCut = true;
    if (cut !== 'before') await route.fetch();
    await (cut === 'garbled' ? route.fulfill({ contentType: 'text/html', body: '<p>Sign in' }) : route.abort());
  });
  await press(button);
  const said = cut === 'garbled' ? 'The server answered in an unexpected way.' : 'No answer came.';
  await page.getByText(said).first().waitFor();
  await until(async () => (await effects()) === (cut === 'before' ? 0 : 1));
  expect(await typedNow()).toEqual(typed);

  await page.unroute(at);
  const answered = page.waitForResponse(response => at(new URL(response.url())));
  const [response] = await Promise.all([answered, press(again)]);
  expect(response.status()).toBe(200);
  isCut = false;
  await Promise.all(held.map(route => route.continue()));
  await saying(page, done);
  await until(async () => (await effects()) > 0);
  expect(await effects()).toBe(1);
  await page.context().close();
}

/**
 * Opens two tabs and double-clicks the button in both at once: it is done once. Each tab says so, or why not; a tab that
 * is told that another has done it shows a refusal.
 */
export async function pressInTwoTabs(submit: Submit): Promise<void> {
  const { visit, operation, button, done, effects } = submit;
  const tabs = [await visit(), await visit()];
  const buttons = tabs.map(page => page.getByRole('button', { name: button }).first());
  // a tab that is opened after the other was pressed may have no such button
  for (const page of tabs) await assertUnsaid(page, submit);
  expect(await effects()).toBe(0);
  const ends = tabs.map(page =>
    Promise.race([
      page.waitForResponse(response => new URL(response.url()).pathname === operation),
      page.getByRole('alert').first().waitFor(),
    ]),
  );
  await Promise.all([...ends, ...buttons.map(each => each.dblclick())]);
  for (const page of tabs) await Promise.any([saying(page, done), page.getByRole('alert').first().waitFor()]);
  await until(async () => (await effects()) === 1);
  for (const page of tabs) await page.context().close();
}
