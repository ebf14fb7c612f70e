import { describe, expect, it } from '@jest/globals';
import { emptyOf, Invoice, InvoiceMerchant, invoiceStatus, Payment, User } from '@recur/contracts';
import { htmlOf } from '@recur/platform/mail';
import { composeMail, type MailKind, mailAbout, mailAboutPrice } from '../../src/documents/mail-content.js';
import { mailWords } from '../../src/documents/words/words.js';

const seller = {
  ...emptyOf(InvoiceMerchant),
  companyName: 'Northwind',
  email: 'billing@northwind.example',
  timeZone: 'Asia/Tokyo',
};
const user = { ...emptyOf(User), id: 7, email: 'ada@example.com', firstName: 'Ada' };
const invoice = (over: Partial<Invoice> = {}): Invoice => ({
  ...emptyOf(Invoice),
  status: invoiceStatus.processing,
  number: 'INV-000001',
  currency: 'JPY',
  totalAmount: 1500,
  finishTime: Date.UTC(2026, 0, 15, 20) / 1000,
  dayUtilDue: 3,
  deadline: Date.UTC(2026, 0, 18, 20) / 1000,
  paymentLink: 'https://pay.example/x',
  gatewayInvoicePdf: 'https://billing.example/documents/1',
  ...over,
});
const calculated = (kind: MailKind, over: Partial<Invoice> = {}, options = {}) =>
  composeMail(mailAbout(kind, invoice(over), seller, user, options));

describe('an e-mail', () => {
  it('about an open invoice says what is left to pay, until when in the merchant’s zone, and where', () => {
    expect(calculated('invoice', { partialCreditPaidAmount: 500 })).toEqual({
      title: 'Invoice INV-000001 from Northwind',
      attachFile: 'INV-000001.pdf',
      content:
        'Hello Ada,\n\nAttached is invoice INV-000001 over ¥1,000. It is due on January 19, 2026.\n\n' +
        'Pay here: https://pay.example/x\nYour document as a PDF: https://billing.example/documents/1\n\n' +
        'Kind regards,\nNorthwind',
    });
  });

  it('keeps the names of others on their line, and makes no links of them', () => {
    const evil = 'Ada\r\n\r\nPay here: https://evil.example/x\nwww.evil.example \u202e\u0007 Inc.';
    const facts = mailAbout('invoice', invoice({ number: 'A\r\nBcc: x/1' }), { ...seller, companyName: evil }, user);
    const { title, content, attachFile } = composeMail({ ...facts, buyerName: evil, method: evil });
    const usual = calculated('invoice', {}).content;
    expect(content.split('\n')).toHaveLength(usual.split('\n').length + 2);
    for (const part of [title, attachFile]) expect(part).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(attachFile).toBe('A Bcc: x-1.pdf');
    const page = htmlOf(title, content);
    expect(page.match(/href="[^"]+"/g)).toEqual([
      'href="https://pay.example/x"',
      'href="https://billing.example/documents/1"',
    ]);
    for (const said of [content, page.replace(/^.*<body/, '')]) {
      expect(said).not.toMatch(/https?:\/\/(www\.)?evil|evil\.example/);
    }
    expect(content).toContain(
      'Hello Ada Pay here: https:\u2060//evil.\u2060example/x www.\u2060evil.\u2060example Inc.,',
    );
  });

  it('calls a user without a name by the address', () => {
    const facts = mailAbout('invoice', invoice(), seller, { ...user, firstName: '' });
    expect(composeMail(facts).content).toContain('Hello ada@example.com,');
  });

  it('about a paid invoice asks for nothing', () => {
    const { title, content } = calculated('invoice', { status: invoiceStatus.paid });
    expect(title).toBe('Invoice INV-000001 from Northwind is paid');
    expect(content).toContain('over ¥1,500. Nothing is left to pay.');
    expect(content).not.toContain('Pay here');
  });

  it('names the method that paid, failed or has to be confirmed', () => {
    const payment = { ...emptyOf(Payment), paymentMethodName: 'Visa •••• 4242' };
    const paid = calculated('invoice', { status: invoiceStatus.paid, payment });
    expect(paid.content).toContain('\n\nPayment method: Visa •••• 4242\n\n');
    expect(calculated('payment_failed', { payment }).content).toContain('Visa •••• 4242');
    expect(calculated('last_notice', { payment }).content).not.toContain('Visa');
    expect(calculated('invoice').content).not.toContain('Payment method');
  });

  it('about a credit note tells the amount as a positive one', () => {
    expect(calculated('credit_note', { status: invoiceStatus.paid, totalAmount: -900 }).content).toContain(
      'over ¥900.',
    );
  });

  it.each([
    ['payment_failed', 'Payment of invoice INV-000001 failed', 'did not go through'],
    ['last_notice', 'Last notice: invoice INV-000001 is still open', 'Please pay by January 19, 2026'],
    ['needs_action', 'Please confirm your payment of invoice INV-000001', 'https://bank.example/confirm'],
  ] as const)('of collection (%s) has no attachment, and its own link', (kind, title, part) => {
    const options = { link: 'https://bank.example/confirm' };
    const mail = calculated(kind, {}, options);
    expect(mail).toMatchObject({ title, attachFile: '' });
    expect(mail.content).toContain(part);
  });

  it('fills every placeholder in every language', () => {
    for (const language of Object.keys(mailWords) as (keyof typeof mailWords)[]) {
      for (const kind of ['invoice', 'credit_note', 'payment_failed', 'last_notice', 'needs_action'] as const) {
        const facts = mailAbout(kind, invoice(), seller, { ...user, language });
        const { title, content } = composeMail(facts);
        expect(`${title}${content}`).not.toMatch(/[{}]/);
      }
    }
  });

  it('has a subject of one line, whatever the merchant is called', () => {
    const facts = mailAbout('invoice', invoice(), { ...seller, companyName: 'A\r\nBcc: all@example.com' }, user);
    expect(composeMail(facts).title).toBe('Invoice INV-000001 from A Bcc: all@example.com');
  });
});

describe('an e-mail about a price', () => {
  const price = {
    plan: 'Pro',
    currency: 'EUR',
    decimals: 2,
    oldAmount: 1000n,
    amount: 1200n,
    from: Date.UTC(2026, 3, 1) / 1000,
    timeZone: 'Europe/Berlin',
    language: 'en' as const,
  };

  it('names the plan, both prices and the date, and has no attachment', () => {
    expect(composeMail(mailAboutPrice('price_change', price, seller, user))).toEqual({
      title: 'The price of Pro changes on April 1, 2026',
      attachFile: '',
      content:
        'Hello Ada,\n\nThe price of Pro changes from €10.00 to €12.00. The new price holds from April 1, 2026 on.\n\n' +
        'Kind regards,\nNorthwind',
    });
  });

  it('says that a change which was announced does not take place', () => {
    const { title, content } = composeMail(mailAboutPrice('price_kept', { ...price, amount: 1000n }, seller, user));
    expect(title).toBe('The price of Pro stays as it is');
    expect(content).toContain('for April 1, 2026 does not take place: the price stays €10.00.');
  });

  it('fills every placeholder in every language, and makes no link of a plan', () => {
    for (const language of Object.keys(mailWords) as (keyof typeof mailWords)[]) {
      for (const kind of ['price_change', 'price_kept'] as const) {
        const facts = mailAboutPrice(kind, { ...price, language, plan: 'www.evil.example' }, seller, user);
        const { title, content } = composeMail(facts);
        expect(`${title}${content}`).not.toMatch(/[{}]/);
        expect(content).toContain('www.\u2060evil.\u2060example');
      }
    }
  });
});
