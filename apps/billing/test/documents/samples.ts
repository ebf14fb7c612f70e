import { PNG } from 'pngjs';
import type { DocumentContent, Party } from '../../src/documents/content.js';

const nobody: Party = {
  name: '',
  address: [],
  countryCode: '',
  vatNumber: '',
  registrationNumber: '',
  email: '',
  phone: '',
};

export const line = (over: Partial<DocumentContent['lines'][number]> = {}): DocumentContent['lines'][number] => ({
  name: 'Seats',
  description: '',
  periodStart: 0,
  periodEnd: 0,
  quantity: 3,
  unitAmount: 1999n,
  net: 5997n,
  ratePpm: 190_000,
  ...over,
});

/** A German invoice of three lines; `over` replaces fields. */
export const content = (over: Partial<DocumentContent> = {}): DocumentContent => ({
  kind: 'invoice',
  language: 'en',
  number: 'INV-000042',
  originalNumber: '',
  title: '',
  currency: 'EUR',
  decimals: 2,
  timeZone: 'Europe/Berlin',
  issuedAt: Date.UTC(2026, 0, 15, 23, 30) / 1000,
  dueAt: Date.UTC(2026, 0, 18, 23, 30) / 1000,
  paidAt: 0,
  paidWith: '',
  seller: {
    ...nobody,
    name: 'Northwind Software GmbH',
    address: ['Torstraße 140', '10119 Berlin'],
    countryCode: 'DE',
    vatNumber: 'DE123456789',
    registrationNumber: 'HRB 98765 B',
    email: 'billing@northwind.example',
  },
  buyer: {
    ...nobody,
    name: 'Ada Analytics Ltd',
    address: ['12 Orchard Road', 'Dublin 2, D02 X285'],
    countryCode: 'IE',
    vatNumber: 'IE6388047V',
    email: 'accounts@ada.example',
  },
  logo: null,
  lines: [
    line({
      name: 'Pro plan, monthly',
      description: 'Unlimited projects, 50 GB of storage',
      periodStart: Date.UTC(2026, 0, 15) / 1000,
      periodEnd: Date.UTC(2026, 1, 15) / 1000,
      quantity: 1,
      unitAmount: 4900n,
      net: 4900n,
    }),
    line({ name: 'Extra seat', unitAmount: 900n, net: 2700n }),
    line({ name: 'API calls over the included 100 000', quantity: 1200, unitAmount: 2n, net: 2400n }),
  ],
  subtotal: 10_000n,
  discount: { code: '', amount: 0n },
  promoCredit: 0n,
  netTotal: 10_000n,
  taxes: [{ category: 'S', ratePpm: 190_000, net: 10_000n, tax: 1900n, jurisdiction: 'DE', reason: '' }],
  total: 11_900n,
  creditApplied: 0n,
  due: 11_900n,
  paymentLink: 'https://pay.northwind.example/invoice/h0YV4oTqJjVxTt5x0rN2p8m3wQ9sK1cLZbE7uGfDaXk',
  bank: null,
  note: '',
  ...over,
});

export const bank: NonNullable<DocumentContent['bank']> = {
  accountHolder: 'Northwind Software GmbH',
  bankName: 'Commerzbank Berlin',
  address: 'Pariser Platz 1, 10117 Berlin',
  iban: 'DE89370400440532013000',
  bic: 'COBADEFFXXX',
  accountNumber: '',
  others: [['', 'Please transfer without charges for the recipient.']],
};

/** A small PNG of one colour. */
export function picture(alpha: number): Uint8Array {
  const image = new PNG({ width: 12, height: 8 });
  image.data.fill(40);
  for (let at = 3; at < image.data.length; at += 4) image.data[at] = alpha;
  return new Uint8Array(PNG.sync.write(image));
}
