import {
  exponentOf,
  type GatewayBank,
  type Invoice,
  type InvoiceLine,
  type InvoiceMerchant,
  invoiceStatus,
  type User,
} from '@recur/contracts';
import { languageOf } from '@recur/kernel';
import { ppmOf } from '../pricing/tax.js';
import { bounded } from './bounds.js';
import type { BankAccount, ContentLine, ContentTax, DocumentContent, Party } from './content.js';

/** Facts of a document that the Invoice itself does not contain. */
export interface DocumentInput {
  kind: DocumentContent['kind'];
  seller: InvoiceMerchant;
  /** null where the user is gone. */
  buyer: User | null;
  /** In the order of their first line. Absent: one group, from the invoice's own tax. */
  taxes?: readonly ContentTax[];
  /** The account of a wire-transfer gateway. */
  bank: GatewayBank | null;
  /** Number of the invoice that a credit note corrects. */
  originalNumber?: string;
  note?: string;
}

/** A finished invoice or credit note as it is printed, in the buyer's language, and bounded. */
export function documentContent(invoice: Invoice, input: DocumentInput): DocumentContent {
  const { seller, buyer, kind } = input;
  const isOpen = invoice.status === invoiceStatus.processing;
  const creditApplied = BigInt(invoice.partialCreditPaidAmount);
  const total = BigInt(invoice.totalAmount);
  return bounded({
    kind,
    language: languageOf(buyer?.language ?? ''),
    number: invoice.number,
    originalNumber: input.originalNumber ?? '',
    title: invoice.invoiceName,
    currency: invoice.currency,
    decimals: exponentOf(invoice.currency),
    timeZone: seller.timeZone || 'UTC',
    issuedAt: invoice.finishTime,
    dueAt: isOpen && kind === 'invoice' ? invoice.deadline : 0,
    paidAt: kind === 'invoice' ? invoice.paidTime : 0,
    paidWith: kind === 'invoice' && invoice.paidTime > 0 ? (invoice.payment?.paymentMethodName ?? '') : '',
    seller: sellerOf(seller),
    buyer: buyerParty(buyer),
    logo: null,
    lines: invoice.lines.map(contentLine),
    subtotal: invoice.lines.reduce((sum, line) => sum + BigInt(line.amountExcludingTax), 0n),
    discount: { code: invoice.discountCode, amount: BigInt(invoice.discountAmount) },
    promoCredit: BigInt(invoice.promoCreditDiscountAmount),
    netTotal: BigInt(invoice.totalAmountExcludingTax),
    taxes: input.taxes ?? oneTax(invoice),
    total,
    creditApplied,
    due: isOpen ? total - creditApplied : 0n,
    paymentLink: isOpen ? invoice.paymentLink : '',
    bank: isOpen && input.bank ? accountOf(input.bank) : null,
    note: input.note ?? '',
  });
}

function contentLine(line: InvoiceLine): ContentLine {
  return {
    name: line.name,
    description: line.pdfDescription || line.description,
    periodStart: line.periodStart,
    periodEnd: line.periodEnd,
    quantity: line.quantity,
    unitAmount: BigInt(line.unitAmountExcludingTax),
    net: BigInt(line.amountExcludingTax),
    ratePpm: ppmOf(line.taxPercentage),
  };
}

function oneTax(invoice: Invoice): ContentTax[] {
  if (invoice.taxAmount === 0) return [];
  const net = BigInt(invoice.totalAmountExcludingTax);
  const tax = BigInt(invoice.taxAmount);
  return [{ category: 'S', ratePpm: ppmOf(invoice.taxPercentage), net, tax, jurisdiction: '', reason: '' }];
}

const addressLines = (text: string): string[] => text.split(/\r?\n/).filter(line => line.trim() !== '');

function sellerOf(seller: InvoiceMerchant): Party {
  return {
    name: seller.companyName || seller.name,
    address: addressLines(seller.address),
    countryCode: seller.countryCode,
    vatNumber: seller.companyVatNumber,
    registrationNumber: seller.companyRegistryCode,
    email: seller.email,
    phone: seller.phone,
  };
}

/** A company by its name, with the person below it; else the person, else the e-mail. */
function buyerParty(user: User | null): Party {
  const person = [user?.firstName, user?.lastName].filter(Boolean).join(' ') || (user?.userName ?? '');
  const company = user?.companyName ?? '';
  const city = [user?.zipCode, user?.city].filter(Boolean).join(' ');
  const name = company || person || (user?.email ?? '');
  return {
    name,
    address: [company === '' ? '' : person, ...addressLines(user?.address ?? ''), city, user?.state ?? ''].filter(
      line => line !== '',
    ),
    countryCode: user?.countryCode ?? '',
    vatNumber: user?.vATNumber ?? '',
    registrationNumber: user?.registrationNumber ?? '',
    email: name === user?.email ? '' : (user?.email ?? ''),
    phone: '',
  };
}

function accountOf(bank: GatewayBank): BankAccount {
  return {
    accountHolder: bank.accountHolder,
    bankName: bank.bankName,
    address: bank.address,
    iban: bank.iban,
    bic: bank.bic || bank.swiftCode,
    accountNumber: bank.accountNumber,
    others: [
      ['ABA', bank.ABARoutingNumber],
      ['BSB', bank.bsbCode],
      ['CNAPS', bank.CNAPS],
      ['', bank.Remarks],
    ],
  };
}
