import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  cancelInvoice,
  emailStatus,
  invoiceDetail,
  listEmailHistory,
  markRefundSuccess,
  refundInvoice,
  sendInvoiceEmail,
} from '@recur/contracts';
import { simpleParser } from 'mailparser';
import { DocumentRenderer } from '../../src/documents/renderer.js';
import { changeInvoiceSettings } from '../../src/invoices/settings.js';
import type { Shop } from '../world/shop.js';
import { shopWithDocuments } from './desk.js';
import { Mailbox } from './mailbox.js';
import { pagesOf } from './pdf-text.js';

let mailbox: Mailbox;
let s: Shop;
beforeAll(async () => {
  mailbox = await Mailbox.open();
  s = await shopWithDocuments({ SMTP_URL: mailbox.url, MAIL_FROM: 'Billing <billing@northwind.example>' });
  await automatic(false);
});
afterAll(async () => {
  await s.t.close();
  await mailbox.close();
});
beforeEach(async () => {
  await s.drain();
  mailbox.clear();
  await s.t.emitted();
});

const change = (settings: Parameters<typeof changeInvoiceSettings>[1], of = s) =>
  of.t.db.write(of.t.callerOf(), async tx => {
    await changeInvoiceSettings(tx, settings);
    tx.log('Invoices(settings)', 'Update');
    return {};
  });
/** Switches the e-mails on or off that no command asks for. */
const automatic = (invoiceEmail: boolean, of = s) => change({ invoiceEmail }, of);
/** Hides invoices of total 0, or shows them. */
const hideZero = (hidden = true) => change({ showZeroInvoice: !hidden });
const send = async (over: object = {}) => {
  const invoice = await s.made({ finish: true, ...over });
  await s.t.done(sendInvoiceEmail, { invoiceId: invoice.invoiceId });
  return invoice;
};
const history = (filter: object = {}) => s.t.done(listEmailHistory, filter);
const newest = async () => (await history({ count: 1 })).emailHistories[0];

describe('invoice/send_email', () => {
  it('sends the invoice with its PDF after the commit, and writes one log entry for each', async () => {
    const { invoiceId, number, gatewayInvoicePdf, paymentLink } = await s.made({ finish: true });
    await s.t.emitted();
    await s.t.done(sendInvoiceEmail, { invoiceId });
    expect(mailbox.mails).toEqual([]);
    expect(await newest()).toMatchObject({
      email: 'user1@example.com',
      status: emailStatus.pending,
      attachFile: `${number}.pdf`,
    });
    await s.drain();
    expect(mailbox.mails).toHaveLength(1);
    const mail = await simpleParser(mailbox.mails[0] ?? '');
    expect(mail.from?.value).toEqual([{ name: 'Acme', address: 'billing@northwind.example' }]);
    expect(mail.to).toMatchObject({ text: 'user1@example.com' });
    expect(mail.messageId).toMatch(/^<mail-15-\d+@northwind\.example>$/);
    expect(mail.date).toEqual(new Date(s.clock.wall()));
    expect(mail.text).toContain(`invoice ${number} over €70.33`);
    expect(mail.text).toContain(paymentLink);
    expect(mail.text).toContain(gatewayInvoicePdf);
    const [pdf] = mail.attachments;
    expect(pdf).toMatchObject({ filename: `${number}.pdf`, contentType: 'application/pdf' });
    expect((await pagesOf(new Uint8Array(pdf?.content ?? []))).join()).toContain(number);
    expect(await newest()).toMatchObject({ status: emailStatus.sent, response: expect.stringMatching(/^250/) });
    const logs = (await s.t.emitted()).map(({ type, data }) => [type, data]);
    expect(logs).toEqual([
      ['operation.logged', expect.objectContaining({ target: `Invoice(${invoiceId})`, content: 'SendEmail' })],
      [
        'operation.logged',
        expect.objectContaining({ target: expect.stringMatching(/^Email\(\d+\)$/), content: 'Sent' }),
      ],
    ]);
  });

  it('writes in the language of the user', async () => {
    s.knowUser(2, { language: 'zh_CN', firstName: '爱达', email: 'ada@example.cn' });
    const { number } = await send({ userId: 2 });
    await s.drain();
    const { text, subject } = await simpleParser(mailbox.mails[0] ?? '');
    expect(text).toContain('爱达，您好');
    expect(subject).toContain(`账单 ${number}`);
  });

  it('refuses a draft, a deleted one and an unknown one', async () => {
    const draft = await s.made();
    const refused = async (invoiceId: string) => s.t.call(sendInvoiceEmail, { invoiceId });
    expect(await refused(draft.invoiceId)).toMatchObject({ ok: false, slug: 'invoice_is_draft' });
    await s.moves.delete(draft.invoiceId);
    expect(await refused(draft.invoiceId)).toMatchObject({ ok: false, slug: 'invoice_not_found' });
    expect(await refused('in_unknown')).toMatchObject({ ok: false, slug: 'invoice_not_found' });
    const { invoiceId } = await s.made({ finish: true });
    // finished before documents froze their buyer
    await s.t.rows('update invoices set buyer = null where invoice_id = $1', [invoiceId]);
    await s.t.rows('delete from user_copies where id = 1');
    // one that was finished before buyers were kept on documents
    await s.t.rows('update invoices set buyer = null where invoice_id = $1', [invoiceId]);
    expect(await refused(invoiceId)).toMatchObject({ ok: false, slug: 'user_not_found' });
  });

  it('sends once for one Idempotency-Key', async () => {
    const { invoiceId } = await s.made({ finish: true });
    for (let at = 0; at < 2; at++) await s.t.done(sendInvoiceEmail, { invoiceId }, { idempotencyKey: 'once' });
    await s.drain();
    expect(mailbox.mails).toHaveLength(1);
  });
});

describe('e-mails that no command asks for', () => {
  beforeAll(() => automatic(true));
  afterAll(() => automatic(false));
  const titles = async () => {
    await s.drain();
    const mails = await Promise.all(mailbox.mails.map(mail => simpleParser(mail)));
    mailbox.clear();
    return mails.map(({ subject, attachments }) => [subject, attachments.map(({ filename }) => filename).join()]);
  };

  it('tell that an invoice was issued, paid, and refunded; a draft and a cancellation are told to nobody', async () => {
    const { invoiceId, number } = await s.made({ finish: true });
    expect(await titles()).toEqual([[`Invoice ${number} from Acme`, `${number}.pdf`]]);
    await s.moves.receive(invoiceId);
    expect(await titles()).toEqual([[`Invoice ${number} from Acme is paid`, `${number}.pdf`]]);
    expect((await newest())?.content).toContain('Nothing is left to pay.');
    const { refund } = await s.t.done(refundInvoice, { invoiceId, refundAmount: 1000, reason: 'Late' });
    expect([refund.status, await titles()]).toEqual([10, []]);
    await s.t.done(markRefundSuccess, { invoiceId });
    expect(await titles()).toEqual([['Credit note CN-000001 from Acme', 'CN-000001.pdf']]);
    expect((await newest())?.content).toContain('credit note CN-000001 over €10.00');
    const draft = await s.made();
    const other = await s.made({ finish: true });
    expect(await titles()).toHaveLength(1);
    await s.moves.delete(draft.invoiceId);
    await s.t.done(cancelInvoice, { invoiceId: other.invoiceId });
    expect(await titles()).toEqual([]);
  });

  it('tell once that an invoice without anything due is paid', async () => {
    const lines = [{ name: 'Free', unitAmountExcludingTax: 0 }];
    const { number } = await s.made({ finish: true, lines });
    expect(await titles()).toEqual([[`Invoice ${number} from Acme is paid`, `${number}.pdf`]]);
  });

  it('are told by the sendStatus of their documents: unsent, sent, or unnecessary where nothing is sent', async () => {
    const statusOf = async (id: string) => (await s.detail(id)).sendStatus;
    const { invoiceId, sendStatus } = await s.made({ finish: true });
    expect([sendStatus, await statusOf(invoiceId)]).toEqual([0, 0]);
    await s.drain();
    expect(await statusOf(invoiceId)).toBe(1);
    await s.t.done(cancelInvoice, { invoiceId });
    const [note] = (await s.t.done(invoiceDetail, { invoiceId })).creditNotes;
    expect([await statusOf(invoiceId), note?.sendStatus]).toEqual([1, 2]);
    await automatic(false);
    const quiet = await s.made({ finish: true });
    expect(quiet.sendStatus).toBe(2);
    await s.t.done(sendInvoiceEmail, { invoiceId: quiet.invoiceId });
    await s.drain();
    expect(await statusOf(quiet.invoiceId)).toBe(1);
    await automatic(true);
    const draft = await s.made();
    await hideZero();
    const free = await s.made({ finish: true, lines: [{ name: 'Free', unitAmountExcludingTax: 0 }] });
    expect([draft.sendStatus, free.sendStatus, free.number]).toEqual([0, 2, '']);
    await hideZero(false);
    await s.drain();
    mailbox.clear();
  });

  it('are not written for merchants that switched them off', async () => {
    await automatic(false);
    const { invoiceId } = await s.made({ finish: true });
    await s.moves.receive(invoiceId);
    expect(await titles()).toEqual([]);
    await automatic(true);
  });
});

describe('an e-mail that fails', () => {
  it('is tried again, and shown with the reason meanwhile', async () => {
    mailbox.answer = { code: 451, text: 'Try later' };
    const { invoiceId } = await send();
    await s.drain();
    expect((await s.detail(invoiceId)).sendStatus).toBe(2);
    expect(await newest()).toMatchObject({
      status: emailStatus.pending,
      response: expect.stringContaining('451 Try later'),
    });
    s.clock.advance(59);
    await s.drain();
    expect(mailbox.mails).toEqual([]);
    mailbox.answer = undefined;
    s.clock.advance(1);
    await s.drain();
    expect(mailbox.mails).toHaveLength(1);
    expect(await newest()).toMatchObject({ status: emailStatus.sent });
  });

  it('is given up after six attempts', async () => {
    mailbox.answer = { code: 421, text: 'Busy' };
    await send();
    for (const pause of [0, 60, 300, 1_800, 7_200, 21_600]) {
      expect(await newest()).toMatchObject({ status: emailStatus.pending });
      s.clock.advance(pause);
      await s.drain();
    }
    expect(await newest()).toMatchObject({ status: emailStatus.failed, response: expect.stringContaining('Busy') });
    mailbox.answer = undefined;
    s.clock.advance(86_400);
    await s.drain();
    expect(mailbox.mails).toEqual([]);
  });

  it('whose PDF cannot be made is tried again after growing pauses, then given up, saying why', async () => {
    const fails = jest.spyOn(s.t.app.get(DocumentRenderer), 'render').mockRejectedValue(new Error('it took too long'));
    await send();
    const response = 'The PDF could not be made: it took too long';
    for (const [at, pause] of [60, 300, 1_800, 7_200, 21_600].entries()) {
      await s.drain();
      expect(await newest()).toMatchObject({ status: emailStatus.pending, response });
      s.clock.advance(pause - 1);
      await s.drain();
      expect(fails).toHaveBeenCalledTimes(at + 1);
      s.clock.advance(1);
    }
    await s.drain();
    expect(await newest()).toMatchObject({ status: emailStatus.failed, response });
    s.clock.advance(10 * 86_400);
    await s.drain();
    expect(fails).toHaveBeenCalledTimes(6);
    expect(mailbox.mails).toEqual([]);
    fails.mockRestore();
  });

  it('is given up at once where the recipient is refused for good', async () => {
    mailbox.answer = { code: 550, text: 'No such mailbox' };
    await send();
    await s.drain();
    expect(await newest()).toMatchObject({
      status: emailStatus.failed,
      response: expect.stringContaining('No such mailbox'),
    });
    mailbox.answer = undefined;
  });
});

describe('invoice/send_email, again and again', () => {
  it('sends ten e-mails a minute to one user, also where they are asked for at once', async () => {
    for (const id of [71, 72]) s.knowUser(id);
    const { invoiceId } = await s.made({ userId: 71, finish: true });
    const other = await s.made({ userId: 72, finish: true });
    const ask = () => s.t.call(sendInvoiceEmail, { invoiceId });
    const answers = await Promise.all(Array.from({ length: 14 }, ask));
    const refused = answers.filter(({ ok }) => !ok);
    expect(refused).toHaveLength(4);
    for (const one of refused) expect(one).toMatchObject({ slug: 'rate_limited' });
    s.clock.advance(59);
    expect(await ask()).toMatchObject({ slug: 'rate_limited' });
    expect(await s.t.call(sendInvoiceEmail, { invoiceId: other.invoiceId })).toMatchObject({ ok: true });
    s.clock.advance(1);
    expect(await ask()).toMatchObject({ ok: true });
    await s.drain();
    expect(mailbox.mails).toHaveLength(12);
  });
});

describe('email/history_list', () => {
  it('finds e-mails by every filter, newest first, and counts them', async () => {
    s.knowUser(3, { email: 'Grace@Example.com' });
    const { number } = await send({ userId: 3 });
    await s.drain();
    const found = async (filter: object) => (await history(filter)).emailHistories.map(({ title }) => title);
    const title = `Invoice ${number} from Acme`;
    for (const filter of [
      { email: 'grace@example.COM' },
      { searchKey: 'RACE@exam' },
      { searchKey: `${number} from`, status: [1], createTimeStart: s.clock.now(), createTimeEnd: s.clock.now() },
    ]) {
      expect(await found(filter)).toEqual([title]);
    }
    expect(await found({ email: 'grace@example.com', status: [2] })).toEqual([]);
    expect(await found({ searchKey: 'nobody' })).toEqual([]);
    expect(await found({ email: 'grace@example.com', createTimeStart: s.clock.now() + 1 })).toEqual([]);
    const { emailHistories, total, emailHistoryStatistics } = await history();
    expect(emailHistories[0]?.title).toBe(title);
    expect(total).toBe(emailHistoryStatistics.totalSend);
    expect(emailHistoryStatistics.totalSend).toBe(
      emailHistoryStatistics.totalSuccess + emailHistoryStatistics.totalFail,
    );
  });

  it('shows nothing of another merchant', async () => {
    expect(await s.t.done(listEmailHistory, {}, { merchantId: 16 })).toEqual({
      emailHistories: [],
      total: 0,
      emailHistoryStatistics: { totalSend: 0, totalSuccess: 0, totalFail: 0 },
    });
  });
});

describe('without a mail server', () => {
  it('e-mails are written to a folder, if there is one', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'mail-'));
    const local = await shopWithDocuments({ MAIL_FOLDER: path.join(folder, 'mails') });
    await automatic(false, local);
    const { invoiceId, number } = await local.made({ finish: true });
    await local.t.done(sendInvoiceEmail, { invoiceId });
    await local.t.work.drain();
    const [file = ''] = readdirSync(path.join(folder, 'mails'));
    expect(file).toMatch(/^2026-01-15T12-00-00\.000Z-[0-9a-f]{8}\.eml$/);
    const mail = await simpleParser(readFileSync(path.join(folder, 'mails', file)));
    expect(mail.attachments[0]?.filename).toBe(`${number}.pdf`);
    await local.t.close();
    rmSync(folder, { recursive: true });
  });

  it('they are given up otherwise, saying why', async () => {
    const local = await shopWithDocuments();
    const { invoiceId } = await local.made({ finish: true });
    await local.t.done(sendInvoiceEmail, { invoiceId });
    await local.t.work.drain();
    const { emailHistories } = await local.t.done(listEmailHistory, {});
    expect(emailHistories).toMatchObject([
      { status: emailStatus.failed, response: 'No mail server is configured (SMTP_URL)' },
    ]);
    await local.t.close();
  });
});
