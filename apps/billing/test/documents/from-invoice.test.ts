import { describe, expect, it } from '@jest/globals';
import { emptyOf, GatewayBank, Invoice, InvoiceLine, InvoiceMerchant, invoiceStatus, User } from '@recur/contracts';
import { type DocumentInput, documentContent } from '../../src/documents/from-invoice.js';

const invoice = (over: Partial<Invoice> = {}): Invoice => ({
  ...emptyOf(Invoice),
  status: invoiceStatus.processing,
  number: 'INV-000001',
  currency: 'EUR',
  finishTime: 1_768_521_600,
  dayUtilDue: 3,
  deadline: 1_768_521_600 + 3 * 86_400 + 1_200,
  totalAmount: 7033,
  totalAmountExcludingTax: 6497,
  taxAmount: 536,
  taxPercentage: 825,
  paymentLink: 'https://pay.example/x',
  lines: [
    {
      ...emptyOf(InvoiceLine),
      name: 'Seats',
      quantity: 3,
      unitAmountExcludingTax: 1999,
      amountExcludingTax: 5997,
      taxPercentage: 825,
    },
    {
      ...emptyOf(InvoiceLine),
      name: 'Support',
      quantity: 1,
      unitAmountExcludingTax: 500,
      amountExcludingTax: 500,
      taxPercentage: 825,
    },
  ],
  ...over,
});
const user = (over: Partial<User> = {}): User => ({ ...emptyOf(User), id: 1, email: 'ada@example.com', ...over });
const facts = (over: Partial<DocumentInput> = {}): DocumentInput => ({
  kind: 'invoice',
  seller: {
    ...emptyOf(InvoiceMerchant),
    companyName: 'Northwind GmbH',
    name: 'Northwind',
    address: 'Torstr. 1\n\n10119 Berlin',
  },
  buyer: user(),
  bank: null,
  ...over,
});

describe('the content of a document', () => {
  it('is what the invoice says', () => {
    expect(documentContent(invoice(), facts())).toMatchObject({
      kind: 'invoice',
      language: 'en',
      decimals: 2,
      timeZone: 'UTC',
      dueAt: 1_768_521_600 + 3 * 86_400 + 1_200,
      subtotal: 6497n,
      netTotal: 6497n,
      total: 7033n,
      due: 7033n,
      taxes: [{ category: 'S', ratePpm: 82_500, net: 6497n, tax: 536n }],
      lines: [{ name: 'Seats', quantity: 3, unitAmount: 1999n, net: 5997n, ratePpm: 82_500 }, { name: 'Support' }],
      seller: { name: 'Northwind GmbH', address: ['Torstr. 1', '10119 Berlin'] },
      buyer: { name: 'ada@example.com', email: '' },
      paymentLink: 'https://pay.example/x',
    });
  });

  it('names a company with its person, or the person', () => {
    const person = { firstName: 'Ada', lastName: 'Lovelace', city: 'London', zipCode: 'N1', language: 'fr_FR' };
    const { buyer, language } = documentContent(
      invoice(),
      facts({ buyer: user({ ...person, companyName: 'Engines Ltd' }) }),
    );
    expect(buyer).toMatchObject({
      name: 'Engines Ltd',
      address: ['Ada Lovelace', 'N1 London'],
      email: 'ada@example.com',
    });
    expect(language).toBe('fr');
    expect(documentContent(invoice(), facts({ buyer: user(person) })).buyer).toMatchObject({
      name: 'Ada Lovelace',
      address: ['N1 London'],
    });
  });

  it('takes taxes as they were decided', () => {
    const taxes = [{ category: 'AE', ratePpm: 0, net: 6497n, tax: 0n, jurisdiction: 'IE', reason: 'valid' }] as const;
    expect(documentContent(invoice({ taxAmount: 0 }), facts({ taxes })).taxes).toEqual(taxes);
    expect(documentContent(invoice({ taxAmount: 0 }), facts()).taxes).toEqual([]);
  });

  const bank = {
    ...emptyOf(GatewayBank),
    accountHolder: 'Northwind GmbH',
    iban: 'DE89370400440532013000',
    swiftCode: 'COBADEFF',
  };

  it('asks for money while the invoice is open, and only then', () => {
    const open = documentContent(invoice({ partialCreditPaidAmount: 33 }), facts({ bank }));
    expect(open).toMatchObject({
      due: 7000n,
      creditApplied: 33n,
      bank: { accountHolder: 'Northwind GmbH', bic: 'COBADEFF' },
    });
    for (const status of [invoiceStatus.paid, invoiceStatus.failed, invoiceStatus.cancelled, invoiceStatus.reversed]) {
      expect(documentContent(invoice({ status, paidTime: 5 }), facts({ bank }))).toMatchObject({
        due: 0n,
        dueAt: 0,
        bank: null,
        paymentLink: '',
      });
    }
  });

  it('shortens long descriptions, so that no document takes forever', () => {
    const lines = Array.from({ length: 500 }, () => ({ ...emptyOf(InvoiceLine), description: '名'.repeat(10_000) }));
    const { lines: printed } = documentContent(invoice({ lines }), facts());
    expect(printed[499]?.description).toBe(`${'名'.repeat(60)}…`);
  });
});
