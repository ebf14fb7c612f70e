import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { updateSubscriptionConfig } from '@recur/contracts';
import { type Pricing, pricing } from '../../world/prices.js';

let p: Pricing;
const folder = mkdtempSync(path.join(tmpdir(), 'recur-price-mails-'));
beforeAll(async () => {
  p = await pricing({ MAIL_FOLDER: folder });
});
afterAll(async () => {
  await p.t.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => p.anew('2026-02-01'));

/** Subjects of the e-mails about prices to a user. */
const mailsTo = async (userId: number) =>
  (
    await p.t.rows(
      `select title from mails where user_id = $1 and kind in ('price_change', 'price_kept') order by id`,
      [userId],
    )
  ).map(({ title }) => title);

describe('the e-mail to a subscriber', () => {
  it('is written with the notice, once, and again where the announced price is taken back', async () => {
    const [planId, userId] = [p.plan(), await p.userWithCard()];
    await p.subscribe({ userId, planId });
    await p.change(planId, 1200);
    await p.to('2026-03-01');
    expect(await mailsTo(userId)).toEqual([]);
    await p.to('2026-03-10');
    expect(await mailsTo(userId)).toEqual(['The price of Pro changes on April 1, 2026']);
    await p.change(planId, 1000);
    await p.to('2026-03-11');
    expect((await mailsTo(userId)).slice(1)).toEqual(['The price of Pro stays as it is']);
  });

  it('is in the language of the user', async () => {
    const [planId, userId] = [p.plan(), await p.userWithCard('succeeds', { language: 'de' })];
    await p.subscribe({ userId, planId });
    await p.change(planId, 1200);
    await p.to('2026-03-10');
    expect(await mailsTo(userId)).toEqual(['Der Preis von Pro ändert sich am 1. April 2026']);
  });

  it('is not written where the merchant has switched e-mails off; the notice is given', async () => {
    await p.t.done(updateSubscriptionConfig, { invoiceEmail: false }, p.merchant);
    const [planId, userId] = [p.plan(), await p.userWithCard()];
    const { id } = await p.subscribe({ userId, planId });
    await p.change(planId, 1200);
    await p.to('2026-03-10');
    expect(await mailsTo(userId)).toEqual([]);
    expect(await p.events(id)).toContain('price_change_notice');
  });
});
