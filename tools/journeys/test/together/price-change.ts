import { expect, it } from '@jest/globals';
import { orThrow } from '@recur/client';
import type { Subscription } from '@recur/contracts';
import { assertExplained } from '../examples/documents.js';
import { Seller } from '../examples/seller.js';
import { on } from '../examples/time-line.js';
import { sharedStand } from '../stand.js';

it("a plan's new price: at once for who subscribes, for who has it after a notice, each on its invoice", async () => {
  const stand = await sharedStand();
  const seller = await Seller.open(stand, 'Price changes');
  await seller.to(on('02-01'));
  const planId = await seller.plan();
  const running = [await seller.subscribe({ planId }), await seller.subscribe({ planId })];
  await seller.to(on('02-10'));

  const change = { planId, newAmount: 1200 };
  const concerned = { oldAmount: 1000, activeAffectedSubscriptions: 2, totalAffectedSubscriptions: 2 };
  const preview = orThrow(await seller.api.post('/merchant/plan/active_price_change/preview', change));
  expect(preview).toEqual({ ...change, ...concerned });
  const confirm = { ...change, confirmOldAmount: 1000, reason: 'Energy' };
  const path = '/merchant/plan/active_price_change/confirm';
  expect(orThrow(await seller.api.post(path, confirm))).toEqual(preview);
  expect(await seller.api.post(path, { ...confirm, newAmount: 1300 })).toMatchObject({ ok: false });
  const { plan } = orThrow(await seller.api.get('/merchant/plan/detail', { planId }));
  expect(plan.amountHistory.map(({ amount, reason }) => [amount, reason])).toEqual([
    [1000, ''],
    [1200, 'Energy'],
  ]);

  const late = await seller.subscribe({ planId });
  await seller.to(on('02-11'));
  expect(await seller.totals(late.userId)).toEqual([1200]);
  /** 30 days before the first period that begins so late; a subscription begins within the first day of February. */
  const announcedTo = ({ createTime }: Subscription) => {
    const sinceDay = createTime - on('02-01');
    const times = { noticeTime: on('03-02') + sinceDay, effectTime: on('04-01') + sinceDay };
    return { planId, oldAmount: 1000, newAmount: 1200, ...times };
  };
  for (const subscription of running) {
    const { amount, priceChanges } = await seller.subscription(subscription.subscriptionId);
    expect([amount, priceChanges]).toEqual([1000, [announcedTo(subscription)]]);
  }

  await seller.to(on('03-02T01'));
  await stand.quiet();
  const noticed = await stand.ask(
    'billing',
    `select envelope from outbox where type = 'subscription.price_change_notice'`,
  );
  const notices = noticed.map(({ envelope }) => JSON.parse(String(envelope)).data);
  for (const subscription of running) {
    const own = notices.filter(({ subscriptionId }) => subscriptionId === subscription.subscriptionId);
    expect(own.map(({ priceChanges }) => priceChanges)).toEqual([[announcedTo(subscription)]]);
  }
  const next = await seller.preview(running[0]?.subscriptionId ?? '');
  expect(next.lines.map(({ amount }) => amount)).toEqual([1200]);

  await seller.to(on('05-02'));
  for (const { userId } of running) {
    const documents = await seller.documents(userId);
    expect(
      documents.map(({ totalAmount, lines }) => [totalAmount, lines.map(({ description }) => description)]),
    ).toEqual([
      [1000, ['']],
      [1000, ['']],
      [1200, [expect.stringMatching(/^Price changed from €10\.00 to €12\.00 on April 1, \d{4}$/)]],
      [1200, ['']],
    ]);
    for (const document of documents) await assertExplained(seller, document);
  }
  expect(await seller.totals(late.userId)).toEqual([1200, 1200, 1200]);
  await stand.quiet();
}, 120_000);
