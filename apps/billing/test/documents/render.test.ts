import { describe, expect, it } from '@jest/globals';
import { fill, type Language } from '@recur/kernel';
import { sized } from '@recur/platform/testing/size';
import fc from 'fast-check';
import type { DocumentContent } from '../../src/documents/content.js';
import { loadedFonts, preferenceOf } from '../../src/documents/pdf/fonts.js';
import { renderPdf } from '../../src/documents/pdf/render.js';
import { directed } from '../../src/documents/pdf/typesetter.js';
import { documentWords } from '../../src/documents/words/words.js';
import { fontsIn, imagesIn, pagesOf } from './pdf-text.js';
import { bank, content, line, picture } from './samples.js';

const textOf = async (over: Partial<DocumentContent> = {}) =>
  (await pagesOf(await renderPdf(content(over)))).join('\n');

it('CJK faces are not loaded before a document needs one', async () => {
  await renderPdf(content());
  expect(loadedFonts().every(file => file.includes('NotoSans_'))).toBe(true);
});

describe('an invoice', () => {
  it('tells its parties, number, dates in the seller’s time zone, lines, tax and total', async () => {
    const text = await textOf();
    for (const part of [
      'Invoice Torstraße 140', // the seller's name is the headline, and not repeated
      'Northwind Software GmbH',
      'VAT number: DE123456789',
      'Registration number: HRB 98765 B',
      'Bill to Ada Analytics Ltd 12 Orchard Road Dublin 2, D02 X285 Ireland VAT number: IE6388047V',
      'INV-000042',
      'January 16, 2026',
      'Due date January 19, 2026',
      'Pro plan, monthly',
      'Unlimited projects, 50 GB of storage',
      '1,200 €0.02 19% €24.00',
      'Subtotal €100.00',
      'Tax DE 19% on €100.00 €19.00',
      'Total €119.00',
      'Amount due €119.00',
      'Page 1 of 1',
      'https://pay.northwind.example/invoice/',
    ]) {
      expect(text).toContain(part);
    }
    expect(text).not.toContain('Discount');
    expect(text).not.toContain('Paid on');
  });

  it('shows what comes off, and the credit that was taken', async () => {
    const text = await textOf({
      discount: { code: 'WELCOME10', amount: 1000n },
      promoCredit: 500n,
      netTotal: 8500n,
      total: 10_115n,
      creditApplied: 1000n,
      due: 9115n,
    });
    for (const part of [
      'Discount WELCOME10 -€10.00',
      'Promotional credit -€5.00',
      'Total excluding tax €85.00',
      'Account credit applied -€10.00',
      'Amount due €91.15',
    ]) {
      expect(text).toContain(part);
    }
  });

  it('says by law why there is no tax, and adds the reason that was decided', async () => {
    const reason = 'VAT number IE6388047V, valid on 2026-01-15.';
    const taxes: DocumentContent['taxes'] = [
      { category: 'AE', ratePpm: 0, net: 10_000n, tax: 0n, jurisdiction: '', reason },
    ];
    expect(await textOf({ taxes })).toContain(`Reverse charge: tax is to be paid by the recipient. ${reason}`);
    expect(await textOf({ taxes, language: 'de' })).toContain('Steuerschuldnerschaft des Leistungsempfängers.');
  });

  it('lists each rate, exact to a ten-thousandth of a percent', async () => {
    const taxes: DocumentContent['taxes'] = [
      { category: 'S', ratePpm: 88_750, net: 100_000n, tax: 8875n, jurisdiction: 'US-NY', reason: '' },
      { category: 'S', ratePpm: 70_000, net: 333n, tax: 23n, jurisdiction: 'DE', reason: '' },
    ];
    const text = await textOf({ taxes });
    expect(text).toContain('Tax US-NY 8.875% on €1,000.00 €88.75');
    expect(text).toContain('Tax DE 7% on €3.33 €0.23');
  });

  it('that is paid says when, and asks for nothing', async () => {
    const paidWith = 'Visa •••• 4242';
    const text = await textOf({ paidAt: Date.UTC(2026, 0, 17) / 1000, paidWith, due: 0n, bank });
    expect(text).toContain('Visa •••• 4242');
    expect(text).toContain('Paid on January 17, 2026');
    expect(text).toContain('Amount paid €119.00');
    expect(text).toContain('Amount due €0.00');
    expect(text).not.toContain('Pay by bank transfer');
    expect(text).not.toContain('Pay online');
  });

  it.each([
    ['JPY', 0, 4900n, '¥4,900'],
    ['KWD', 3, 4900n, 'KWD 4.900'],
    ['USD', 2, -5n, '-$0.05'],
    ['EUR', 2, 9_007_199_254_740_993n, '€90,071,992,547,409.93'],
  ] as const)('writes %s with %s decimals, exactly', async (currency, decimals, total, written) => {
    expect(await textOf({ currency, decimals, total })).toContain(`Total ${written}`);
  });
});

it('a credit note names the invoice that it corrects, and what is credited', async () => {
  const text = await textOf({
    kind: 'credit_note',
    number: 'CN-000007',
    originalNumber: 'INV-000042',
    total: -5831n,
    due: 0n,
    dueAt: 0,
    paymentLink: '',
    bank,
  });
  for (const part of [
    'Credit note',
    'CN-000007',
    'Invoice corrected INV-000042',
    'Total -€58.31',
    'Amount credited €58.31',
  ])
    expect(text).toContain(part);
  expect(text).not.toContain('Pay by bank transfer');
});

describe('a wire transfer', () => {
  it('is explained with the account, the amount’s reference and a QR code', async () => {
    const text = await textOf({ bank });
    for (const part of [
      'Pay by bank transfer',
      'DE89 3704 0044 0532 0130 00',
      'COBADEFFXXX',
      'Reference INV-000042',
      'Scan with',
    ])
      expect(text).toContain(part);
  });

  it('has no QR code in another currency, or with an IBAN that is not valid', async () => {
    expect(await textOf({ bank, currency: 'USD' })).not.toContain('Scan with');
    const text = await textOf({ bank: { ...bank, iban: 'DE89370400440532013001' } });
    expect(text).not.toContain('Scan with');
    expect(text).toContain('DE89370400440532013001');
  });
});

describe('bytes', () => {
  it('are equal for equal content, and others for another', async () => {
    const many = {
      logo: picture(120),
      bank,
      lines: Array.from({ length: 40 }, () => line({ description: '价格 цена τιμή' })),
    };
    const [first, second] = [await renderPdf(content(many)), await renderPdf(content(many))];
    expect(Buffer.compare(first, second)).toBe(0);
    expect(Buffer.compare(first, await renderPdf(content({ ...many, number: 'INV-000043' })))).not.toBe(0);
  });

  it('name the document’s dates as the file’s', async () => {
    const pdf = Buffer.from(await renderPdf(content())).toString('latin1');
    expect(pdf.match(/\(D:\d+Z\)/g)).toEqual(['(D:20260115233000Z)', '(D:20260115233000Z)']);
  });
});

describe('the language', () => {
  it.each(Object.keys(documentWords) as Language[])('%s has all its words on the page', async language => {
    const words = documentWords[language];
    const text = await textOf({ language, bank, paidAt: 0 });
    for (const word of [
      words.invoice,
      words.billTo,
      words.subtotal,
      words.amountDue,
      words.payByTransfer,
      words.scanToPay,
    ])
      expect(text.replaceAll(' ', '')).toContain(word.normalize('NFKC').replaceAll(' ', ''));
    expect(text).toContain(fill(words.page, { page: '1', pages: '1' }).normalize('NFKC'));
  });

  it('writes amounts, rates and dates in its own way', async () => {
    expect(await textOf({ language: 'de' })).toContain('USt. DE 19 % auf 100,00 € 19,00 €');
    expect(await textOf({ language: 'fr' })).toContain('16 janvier 2026');
    expect(await textOf({ language: 'zh' })).toContain('2026年1月16日');
  });
});

describe('scripts', () => {
  const seller = (name: string) => ({ seller: { ...content().seller, name } });

  it.each([
    ['Σοφία Παπαδοπούλου', ['NotoSans-Bold', 'NotoSans-Regular']],
    ['ООО «Ромашка»', ['NotoSans-Bold', 'NotoSans-Regular']],
    ['Erdős Pál Kft. · Yağız ı ₹', ['NotoSans-Bold', 'NotoSans-Regular']],
    ['北京云计费科技有限公司', ['NotoSans-Bold', 'NotoSans-Regular', 'NotoSansSC-Bold', 'NotoSansSC-Regular']],
    ['株式会社サンプル', ['NotoSans-Bold', 'NotoSans-Regular', 'NotoSansJP-Bold', 'NotoSansJP-Regular']],
    ['주식회사 예시', ['NotoSans-Bold', 'NotoSans-Regular', 'NotoSansKR-Bold', 'NotoSansKR-Regular']],
  ])('%s is printed with its own fonts alone', async (name, fonts) => {
    const pdf = await renderPdf(content(seller(name)));
    expect(fontsIn(pdf)).toEqual(fonts);
    expect((await pagesOf(pdf)).join()).toContain(name.normalize('NFKC'));
  });

  it('mix in one text, Latin first', async () => {
    const name = '北京 Beijing ő 株式会社 さくら';
    const pdf = await renderPdf(content(seller(name)));
    expect(fontsIn(pdf)).toContain('NotoSansJP-Bold');
    expect((await pagesOf(pdf)).join().replaceAll(' ', '')).toContain(name.replaceAll(' ', ''));
  });

  it('that no font has are shown as such, and control characters are left out', async () => {
    const text = await textOf(seller('A\u0000b\u202e\u{13000} ꀀ'));
    expect(text).toContain('Ab\ufffd \ufffd');
  });

  it.each([
    ['שירותי ענן בע״מ', 'Hebrew'],
    ['شركة الأمل للتجارة ذ.م.م', 'Arabic'],
    ['บริษัท น้ำใจ จำกัด', 'Thai'],
    ['Công ty Dịch vụ Điện toán Ẩn', 'Sans'],
    ['Žižkov ё щ Z e', 'Sans'],
    ['Team 🚀 ❤ 👍🏽 ✨', 'Emoji'],
  ])('%s is read back whole', async (name, family) => {
    const pdf = await renderPdf(content(seller(name)));
    expect(fontsIn(pdf).filter(font => font.includes(family))).toHaveLength(2);
    expect((await pagesOf(pdf)).join()).toContain(name.normalize('NFKC'));
  });
});

it.each([
  ['חשבון Acme 17', ['Acme 17', 'חשבון ']],
  ['חשבון 17 Acme', ['Acme', ' ', '17', 'חשבון ']],
  ['Acme חשבון 17', ['Acme ', '17', 'חשבון ']],
  ['17 Acme חשבון', ['17 Acme ', 'חשבון']],
  ['שלום (עולם)', ['\u200f)', 'עולם', '\u200f(', 'שלום ']],
  // digits come reversed to a font that reverses them
  ['رقم ١٧', ['٧١', 'رقم ']],
  ['شماره ۱۷', ['۷۱', 'شماره ']],
])('%s is read in the direction of its first letter, numbers and other words in theirs', (text, shown) => {
  const { runs, order } = directed(text, preferenceOf(text, 'en'), 'regular');
  expect(order.map(at => runs[at]?.text)).toEqual(shown);
});

const texts = {
  latin: 'Žižkov ё · Công ty Dịch vụ',
  cjk: '北京云计费 株式会社サンプル 주식회사',
  hebrew: 'שירותי ענן בע״מ, Z e',
  arabic: 'شركة الأمل (للتجارة)، بتث, می‌خواهم ۱۷',
  thai: 'บริษัท น้ำใจ จำกัด า',
};

it('a document does not depend on what was printed before: its bytes and its text', async () => {
  const of = (text: string) => content({ title: text, lines: [line({ name: text, description: text })] });
  const first = new Map<string, Buffer>();
  for (const text of Object.values(texts)) first.set(text, Buffer.from(await renderPdf(of(text))));
  for (const [text, pdf] of first) {
    const read = (await pagesOf(pdf)).join().replace(/[ \u200c]/g, '');
    expect(read.split(text.normalize('NFKC').replace(/[ \u200c]/g, ''))).toHaveLength(4);
  }
  await fc.assert(
    fc.asyncProperty(fc.shuffledSubarray(Object.values(texts), { minLength: 5 }), async order => {
      for (const text of order) expect(Buffer.compare(await renderPdf(of(text)), first.get(text) as Buffer)).toBe(0);
    }),
    { numRuns: sized(10, 200) },
  );
});

describe('pages', () => {
  it('repeat the head of the table and count themselves', async () => {
    const lines = Array.from({ length: 60 }, (_, at) => line({ name: `Line ${at + 1}.` }));
    const pages = await pagesOf(await renderPdf(content({ lines })));
    expect(pages.length).toBeGreaterThanOrEqual(3);
    pages.forEach((page, at) => {
      expect(page).toContain(`Page ${at + 1} of ${pages.length}`);
      expect(page).toContain('INV-000042 · Northwind Software GmbH');
    });
    const withLines = pages.filter(page => /Line \d+\./.test(page));
    for (const page of withLines) expect(page).toContain('Description Quantity');
    for (const { name } of lines) expect(pages.filter(page => page.includes(`${name} `))).toHaveLength(1);
  });

  it('carry a line on that is longer than a page', async () => {
    const words = Array.from({ length: 2_000 }, (_, at) => `word${at}`);
    const pages = await pagesOf(await renderPdf(content({ lines: [line({ description: words.join(' ') })] })));
    expect(pages.length).toBeGreaterThan(1);
    expect(pages[1]).toContain('Continued');
    const text = pages.join(' ');
    for (const word of [words[0], words[999], words[1999]]) expect(text).toContain(word);
  });

  it('break words that are wider than their column', async () => {
    const name = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'.repeat(2);
    const text = (await textOf({ lines: [line({ name })] })).replaceAll(' ', '');
    // the numbers stand beside its first line
    expect(text.replace('3€19.9919%€59.97', '')).toContain(name);
  });
});

describe('a logo', () => {
  it.each([
    ['an opaque PNG', picture(255)],
    ['a transparent PNG, put on white', picture(90)],
  ])('is drawn: %s', async (_, logo) => {
    const pdf = await renderPdf(content({ logo }));
    expect(imagesIn(pdf)).toBe(1);
    // one image and no mask
    expect(Buffer.from(pdf).toString('latin1')).not.toContain('/SMask');
  });

  it.each([
    ['nothing', new Uint8Array()],
    ['no image', new TextEncoder().encode('<svg/>')],
    ['a damaged PNG', picture(255).slice(0, 60)],
    ['a damaged JPEG', new Uint8Array([0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2])],
    ['an image that is too large', new Uint8Array(600 * 1024)],
  ])('does not stop the document where it is %s', async (_, logo) => {
    const pdf = await renderPdf(content({ logo }));
    expect(imagesIn(pdf)).toBe(0);
    expect((await pagesOf(pdf)).join()).toContain('Northwind Software GmbH');
  });
});
