import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  type Invoice,
  invoiceDetail,
  markRefundSuccess,
  newPayment,
  refundInvoice,
  revokeDocumentLinks,
  setTaxExemption,
  setupWireTransfer,
} from '@recur/contracts';
import { systemClock } from '@recur/platform';
import type { Shop } from '../world/shop.js';
import { fetched, linked, shopWithDocuments } from './desk.js';
import { pagesOf } from './pdf-text.js';

let s: Shop;
beforeAll(async () => {
  s = await shopWithDocuments({ BASE_URL: 'https://billing.example/' });
});
afterAll(() => s.t.close());

const notFound = expect.objectContaining({ slug: 'invoice_not_found' });

describe('the link to the PDF of an invoice', () => {
  it('is given at finish, in both fields, and not to a draft', async () => {
    const draft = await s.made();
    expect(draft).toMatchObject({ gatewayInvoicePdf: '', sendPdf: '' });
    const { gatewayInvoicePdf, sendPdf, invoiceId } = await s.made({ finish: true });
    expect(gatewayInvoicePdf).toMatch(
      new RegExp(`^https://billing\\.example/documents/15/${invoiceId}/\\d{5}\\.[\\w-]{43}$`),
    );
    expect(sendPdf).toBe(gatewayInvoicePdf);
    expect((await s.detail(invoiceId)).gatewayInvoicePdf).toBe(gatewayInvoicePdf);
  });

  it('needs no credential, and answers the same bytes each time', async () => {
    const invoice = await s.made({ finish: true, name: 'March' });
    const { fileName, pdf } = await fetched(s, linked(invoice));
    expect(fileName).toBe(`${invoice.number}.pdf`);
    expect((await fetched(s, linked(invoice))).pdf).toEqual(pdf);
    const text = (await pagesOf(pdf)).join();
    for (const part of [
      'March',
      invoice.number,
      'user1@example.com',
      'Seats',
      '€59.97',
      'Tax 8.25% on €64.97 €5.36',
      '€70.33',
    ])
      expect(text).toContain(part);
  });

  it('shows a paid invoice as paid', async () => {
    const invoice = await s.inState('paid');
    const text = (await pagesOf((await fetched(s, linked(invoice))).pdf)).join();
    expect(text).toContain('Paid on January 15, 2026');
    expect(text).not.toContain('Pay online');
  });

  it('of a credit note is its own, and opens once the note is issued', async () => {
    const { invoiceId, number } = await s.inState('paid');
    const { refund } = await s.t.done(refundInvoice, { invoiceId, refundAmount: 2000, reason: '' });
    const notes = async () => (await s.t.done(invoiceDetail, { invoiceId })).creditNotes;
    const [waiting] = await notes();
    const link = linked(waiting as Invoice);
    expect(link.invoiceId).toBe(waiting?.invoiceId);
    await expect(fetched(s, link)).rejects.toEqual(notFound);
    await s.t.done(markRefundSuccess, { invoiceId });
    const [note] = await notes();
    expect(note).toMatchObject({
      refundId: refund.refundId,
      totalAmount: -2000,
      gatewayInvoicePdf: waiting?.gatewayInvoicePdf,
    });
    const { fileName, pdf } = await fetched(s, link);
    expect(fileName).toBe(`${note?.number}.pdf`);
    const text = (await pagesOf(pdf)).join();
    for (const part of [
      'Credit note',
      `Invoice corrected ${number}`,
      'Seats',
      'Tax 8.25% on -€18.48 -€1.52',
      'Amount credited €20.00',
    ])
      expect(text).toContain(part);
    const other = linked(await s.inState('paid'));
    await expect(fetched(s, { ...link, signature: other.signature })).rejects.toEqual(notFound);
  });

  it('tells why no tax is charged, in words', async () => {
    s.knowUser(4, { countryCode: 'FI', language: 'de', companyName: 'Tähti Oy' });
    await s.t.done(setTaxExemption, { userId: 4, exempt: true, reason: 'Botschaft' });
    s.knowPlan(5);
    const order = { userId: 4, gatewayId: s.gateway.gatewayId, planId: 5 };
    const { invoiceId } = await s.t.done(newPayment, order);
    const text = (await pagesOf((await fetched(s, linked(await s.detail(invoiceId)))).pdf)).join();
    for (const part of ['Tähti Oy', 'Finnland', 'Exempt from tax: Botschaft']) expect(text).toContain(part);
  });

  it('opens nothing with another signature, invoice or merchant', async () => {
    const mine = linked(await s.made({ finish: true }));
    const other = linked(await s.made({ finish: true }));
    for (const wrong of [
      { ...mine, invoiceId: other.invoiceId },
      { ...mine, merchantId: 16 },
      { ...mine, signature: other.signature },
      { ...mine, signature: '' },
      { ...mine, invoiceId: 'in_unknown' },
    ]) {
      await expect(fetched(s, wrong)).rejects.toEqual(notFound);
    }
  });

  it('opens nothing in another spelling, or with another day', async () => {
    const mine = linked(await s.made({ finish: true }));
    const [day = '', mac = ''] = mine.signature.split('.');
    const spelled = [`0${mine.signature}`, `${mine.signature}=`, `${mine.signature}A`, ` ${mine.signature}`];
    const dated = [`${Number(day) + 1}.${mac}`, `.${mac}`, `NaN.${mac}`, mac, `1e4.${mac}`, `-${day}.${mac}`];
    for (const signature of [...spelled, ...dated]) {
      await expect(fetched(s, { ...mine, signature })).rejects.toEqual(notFound);
    }
    expect((await fetched(s, mine)).fileName).toMatch(/pdf$/);
  });

  it('is over after 90 days, when a new answer has a new one', async () => {
    const invoice = await s.made({ finish: true });
    const old = linked(invoice);
    const now = Date.now();
    const clock = jest.spyOn(systemClock, 'wall');
    clock.mockReturnValue(now + 90 * 86_400_000);
    expect((await fetched(s, old)).fileName).toBe(`${invoice.number}.pdf`);
    clock.mockReturnValue(now + 91 * 86_400_000);
    await expect(fetched(s, old)).rejects.toEqual(notFound);
    const again = linked(await s.detail(invoice.invoiceId));
    expect((await fetched(s, again)).fileName).toBe(`${invoice.number}.pdf`);
    clock.mockRestore();
  });

  it('is over when it is revoked, with all that were given, and of that document alone', async () => {
    const [invoice, other] = [await s.inState('paid'), await s.inState('paid')];
    const revoked = await s.t.done(revokeDocumentLinks, { invoiceId: invoice.invoiceId });
    expect(linked(revoked.invoice)).toMatchObject({ invoiceId: invoice.invoiceId });
    await expect(fetched(s, linked(invoice))).rejects.toEqual(notFound);
    expect((await fetched(s, linked(revoked.invoice))).fileName).toBe(`${invoice.number}.pdf`);
    expect((await fetched(s, linked(await s.detail(invoice.invoiceId)))).fileName).toBe(`${invoice.number}.pdf`);
    expect((await fetched(s, linked(other))).fileName).toBe(`${other.number}.pdf`);
    const draft = await s.made();
    const refusals = { in_unknown: 'invoice_not_found', [draft.invoiceId]: 'invoice_is_draft' };
    for (const [invoiceId, slug] of Object.entries(refusals)) {
      expect(await s.t.call(revokeDocumentLinks, { invoiceId })).toMatchObject({ slug });
    }
    expect(await s.t.call(revokeDocumentLinks, { invoiceId: other.invoiceId }, { merchantId: 16 })).toMatchObject({
      slug: 'invoice_not_found',
    });
  });

  it('of before links had a day opens nothing, and the document has one with a day', async () => {
    const invoice = await s.made({ finish: true });
    const before = `https://billing.example/documents/15/${invoice.invoiceId}/s1.k1.${'x'.repeat(43)}`;
    await s.t.rows('update invoices set pdf_link = $2 where invoice_id = $1', [invoice.invoiceId, before]);
    expect((await fetched(s, linked(await s.detail(invoice.invoiceId)))).fileName).toBe(`${invoice.number}.pdf`);
    // finished by a replica of the version before, beside this one
    await s.t.rows(`update invoices set document_key = '' where invoice_id = $1`, [invoice.invoiceId]);
    await expect(fetched(s, linked({ gatewayInvoicePdf: before }))).rejects.toEqual(notFound);
    expect((await fetched(s, linked(await s.detail(invoice.invoiceId)))).fileName).toBe(`${invoice.number}.pdf`);
  });

  it('opens nothing of an invoice that is gone', async () => {
    const invoice = await s.made({ finish: true });
    await s.t.rows(`update invoices set status = 'pending' where invoice_id = $1`, [invoice.invoiceId]);
    await expect(fetched(s, linked(invoice))).rejects.toEqual(notFound);
  });
});

it('an invoice of a wire-transfer gateway tells the account', async () => {
  const other = { merchantId: 17 };
  s.knowUser(1, { language: 'de', companyName: 'Ada GmbH' }, 17);
  const bank = { accountHolder: 'Northwind', address: 'Berlin', iban: 'DE89370400440532013000', bic: 'COBADEFFXXX' };
  await s.t.done(setupWireTransfer, { currency: 'EUR', minimumAmount: 100, bank }, other);
  const invoice = await s.made({ finish: true }, other);
  const text = (await pagesOf((await fetched(s, linked(invoice))).pdf)).join();
  for (const part of ['Zahlung per Überweisung', 'Ada GmbH', 'DE89 3704 0044 0532 0130 00', 'Banking-App'])
    expect(text).toContain(part);
});
