import type { Language } from '@recur/kernel';

/** A party as it is printed. Blank fields are left out. */
export interface Party {
  name: string;
  /** Street, city, state and postal code, one per line. */
  address: readonly string[];
  /** ISO 3166 code; printed as the country's name in the document's language. */
  countryCode: string;
  vatNumber: string;
  registrationNumber: string;
  email: string;
  phone: string;
}

/** Amounts in minor units; a line is before discount and promo credit, without tax. */
export interface ContentLine {
  name: string;
  description: string;
  /** Unix seconds; both 0 for none. */
  periodStart: number;
  periodEnd: number;
  quantity: number;
  unitAmount: bigint;
  net: bigint;
  /** null for a sum of lines with several rates. */
  ratePpm: number | null;
}

/** Net and tax of the lines that share category and rate; see the pricing wing's TaxGroup. */
export interface ContentTax {
  /** VAT category of EN 16931. */
  category: 'S' | 'Z' | 'E' | 'AE' | 'K' | 'G' | 'O';
  ratePpm: number;
  net: bigint;
  tax: bigint;
  jurisdiction: string;
  /** In words; '' where the category says it all. */
  reason: string;
}

/** Account for a bank transfer. Blank fields are left out. */
export interface BankAccount {
  accountHolder: string;
  bankName: string;
  /** Address of the bank or its branch. */
  address: string;
  iban: string;
  bic: string;
  accountNumber: string;
  /** Other numbers and remarks, each with its name: ABA routing number, BSB, CNAPS. */
  others: readonly (readonly [name: string, value: string])[];
}

/**
 * An invoice or credit note as it is printed: everything that decides the bytes of its PDF, and nothing else. It is a
 * plain value that can be sent to a worker thread. Amounts are in minor units, times in unix seconds.
 */
export interface DocumentContent {
  kind: 'invoice' | 'credit_note';
  language: Language;
  number: string;
  /** The number of the invoice that a credit note corrects; '' for none. */
  originalNumber: string;
  title: string;
  currency: string;
  /** Decimals of the currency's minor unit. */
  decimals: number;
  /** IANA zone of the merchant: the printed dates are days there. */
  timeZone: string;
  issuedAt: number;
  /** 0 where nothing is to be paid. */
  dueAt: number;
  /** 0 while it is unpaid. */
  paidAt: number;
  /** The method that it was paid with, such as `Visa •••• 4242`; '' for none. */
  paidWith: string;
  seller: Party;
  buyer: Party;
  /** PNG or JPEG. */
  logo: Uint8Array | null;
  lines: readonly ContentLine[];
  subtotal: bigint;
  /** Positive; the code may be blank. */
  discount: { code: string; amount: bigint };
  promoCredit: bigint;
  netTotal: bigint;
  taxes: readonly ContentTax[];
  total: bigint;
  /** Main credit that was taken for it. */
  creditApplied: bigint;
  /** Amount still to be paid; 0 for a paid invoice, the total for a credit note. */
  due: bigint;
  /** The payment page; '' for none. */
  paymentLink: string;
  bank: BankAccount | null;
  note: string;
}

/** Most bytes of a logo. */
export const logoBytes = 512 * 1024;

const signatures = {
  png: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
  jpeg: Buffer.from([0xff, 0xd8, 0xff]),
} as const;
const begins = (image: Buffer, signature: Buffer) => image.subarray(0, signature.length).equals(signature);

/** True for what begins as a PNG or a JPEG, and is not too large. */
export const isPicture = (image: Buffer): boolean =>
  image.length <= logoBytes && Object.values(signatures).some(signature => begins(image, signature));

export const isJpeg = (image: Buffer): boolean => begins(image, signatures.jpeg);
