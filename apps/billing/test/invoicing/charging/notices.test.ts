import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { cancelInvoice } from '@recur/contracts';
import { type CardShop, cardShop } from './cards.js';

let c: CardShop;
const folder = mkdtempSync(path.join(tmpdir(), 'recur-mails-'));
beforeAll(async () => {
  c = await cardShop({ MAIL_FOLDER: folder });
});
afterAll(async () => {
  await c.s.t.close();
  rmSync(folder, { recursive: true });
});

const hour = 3_600;
/** E-mails about an invoice besides its documents. */
const mails = (invoiceId: string) =>
  c.s.t.rows(`select kind, email, content from mails where invoice_id = $1 and kind <> 'invoice' order by id`, [
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
  const { invoiceId } = await c.made(await c.buyer());
  await c.s.t.done(cancelInvoice, { invoiceId });
  await c.pass(80 * hour);
  expect([await kinds(paid.invoiceId), await kinds(invoiceId)]).toEqual([
    [],
    expect.not.arrayContaining(['last_notice']),
  ]);
});
