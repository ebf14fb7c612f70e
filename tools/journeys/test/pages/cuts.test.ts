import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Cut, pressInTwoTabs, pressThroughCut, type Submit } from './cut.js';
import { closedAfterwards, type Seller, sharedSeller } from './seller.js';
import { submitsOf } from './submits.js';

closedAfterwards({ each: false });

let seller: Seller;
let submits: ReturnType<typeof submitsOf>;
beforeAll(async () => {
  seller = await sharedSeller();
  submits = submitsOf(seller);
});

/** Cases that are under way side by side. */
const atOnce = 4;
const names = [
  'the details of a checkout',
  'an order',
  'the payment of an order',
  'an invoice of the portal',
  'an invoice of a link',
  'a transfer that was sent',
  'a change of plan',
  'a change of plan that is taken back',
  'the end of a subscription',
  'the end that is taken back',
  'another billing day',
  'a new payment method',
  'another default method',
  'a payment method that is deleted',
  'the billing details',
] as const;
const submit = (name: string) => (submits[name] as () => Promise<Submit>)();

/** Runs cases side by side, since most of one is a pause of the client; each is awaited by its own test. */
function sideBySide<C>(cases: readonly C[], run: (one: C) => Promise<void>): Promise<void>[] {
  const ends: Promise<void>[] = [];
  for (const [at, one] of cases.entries()) {
    const before = ends[at - atOnce] ?? Promise.resolve();
    ends.push(before.catch(() => undefined).then(() => run(one)));
  }
  for (const end of ends) end.catch(() => undefined);
  return ends;
}

it('every submit of the pages is tried', () => {
  expect(Object.keys(submits)).toEqual(names);
});

describe('the network is cut at', () => {
  const cases = names.flatMap(name => (['before', 'after'] as const).map((cut): [string, Cut] => [name, cut]));
  let ends: Promise<void>[] = [];
  beforeAll(() => {
    ends = sideBySide(cases, async ([name, cut]) => pressThroughCut(cut, await submit(name)));
  });

  it.each(cases.map(([name, cut], at) => [name, cut, at] as const))(
    '%s, %s it was done: the page keeps everything, and it is done once',
    async (_name, _cut, at) => ends[at],
  );

  it('a change of plan, whose answer is garbled after it was done: the same quote is confirmed again, and it is done once', async () =>
    pressThroughCut('garbled', await submit('a change of plan')));

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
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Small' }).waitFor();
  });
});

describe('two tabs, each pressed twice,', () => {
  const tried = new Map<string, Submit>();
  let ends: Promise<void>[] = [];
  beforeAll(() => {
    ends = sideBySide(names, async name => {
      const one = await submit(name);
      tried.set(name, one);
      await pressInTwoTabs(one);
    });
  });

  it.each(names.map((name, at) => [name, at] as const))('do once: %s', async (_name, at) => ends[at]);

  it('have done nothing more when all is quiet', async () => {
    await seller.stand.quiet();
    const effects = await Promise.all([...tried].map(async ([name, { effects }]) => [name, await effects()]));
    expect(effects.sort()).toEqual(names.map(name => [name, 1]).sort());
  });
});
