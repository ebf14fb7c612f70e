import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cancelInvoice } from '@recur/contracts';
import { type CardShop, cardShop } from '../world/cards.js';

let c: CardShop;
const folder = mkdtempSync(path.join(tmpdir(), 'recur-mails-'));
beforeAll(async () => {
  c = await cardShop({ MAIL_FOLDER: folder });
});
afterAll(async () => {
  await c.t.close();
  rmSync(folder, { recursive: true });
});

const hour = 3_600;
/** E-mails about an invoice besides its documents. */
const mails = (invoiceId: string) =>
  c.t.rows(`select kind, email, content from mails where invoice_id = $1 and kind <> 'invoice' order by id`, [
    invoiceId,
  ]);
const kinds = async (invoiceId: string) => (await mails(invoiceId)).map(({ kind }) => kind);

it('the first failure is announced at once, the last notice a day before the deadline', async () => {
  const { invoiceId, userId } = await c.charged('declines_softly');
  expect(await mails(invoiceId)).toMatchObject([{ kind: 'payment_failed', email: `user${userId}@example.com` }]);
  await c.pass(48 * hour);
  expect(await kinds(invoiceId)).toEqual(['payment_failed']);
  await c.pass(hour);
  expect(await kinds(invoiceId)).toEqual(['payment_failed', 'last_notice']);
  await c.pass(48 * hour);
  expect(await kinds(invoiceId)).toHaveLength(2);
});

it('a question of the gateway is sent with its link', async () => {
  const { invoiceId, invoice } = await c.charged('needs_action');
  const [mail] = await mails(invoiceId);
  expect(mail).toMatchObject({ kind: 'needs_action', content: expect.stringContaining(String(invoice.payment?.link)) });
});

it('no last notice is sent about an invoice that is paid or cancelled', async () => {
  const paid = await c.charged('succeeds');
  const { invoiceId } = await c.billed(await c.userWithCard());
  await c.t.done(cancelInvoice, { invoiceId });
  await c.pass(80 * hour);
  expect([await kinds(paid.invoiceId), await kinds(invoiceId)]).toEqual([
    [],
    expect.not.arrayContaining(['last_notice']),
  ]);
});

describe('an invoice is announced once', () => {
  const documents = async (invoiceId: string) =>
    (await c.t.rows(`select title from mails where invoice_id = $1 and kind = 'invoice' order by id`, [invoiceId])).map(
      ({ title }) => String(title),
    );

  it('paid, where it is charged at once', async () => {
    const { invoiceId } = await c.charged('succeeds');
    expect(await documents(invoiceId)).toEqual([expect.stringMatching(/^Invoice INV-\d+ from Acme is paid$/)]);
  });

  it('as failed or to be confirmed, where that is what comes of the charge; then paid', async () => {
    const { userId, invoiceId } = await c.charged('declines_softly');
    expect([await documents(invoiceId), await kinds(invoiceId)]).toEqual([[], ['payment_failed']]);
    await c.swap(userId, 'succeeds');
    await c.drain();
    expect(await documents(invoiceId)).toEqual([expect.stringMatching(/ is paid$/)]);
    expect(await documents((await c.charged('needs_action')).invoiceId)).toEqual([]);
  });

  it('to be paid, where there is nothing to charge, and again when it is paid', async () => {
    const userId = await c.userWithCard();
    const { invoiceId } = await c.billed(userId);
    expect(await documents(invoiceId)).toEqual([]);
    await c.drain();
    expect(await documents(invoiceId)).toEqual([expect.stringMatching(/ from Acme$/)]);
    await c.pass(13 * hour);
    expect(await documents(invoiceId)).toHaveLength(1);
    await c.card(userId, 'succeeds');
    await c.drain();
    expect(await documents(invoiceId)).toEqual([
      expect.stringMatching(/ from Acme$/),
      expect.stringMatching(/ is paid$/),
    ]);
    const { invoiceId: wire } = await c.made({ userId, finish: true });
    expect(await documents(wire)).toEqual([expect.stringMatching(/ from Acme$/)]);
  });
});
