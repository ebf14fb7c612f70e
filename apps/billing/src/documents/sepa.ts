import { decimalOf } from '@recur/kernel';
import { electronicFormatIBAN, isValidBIC, isValidIBAN } from 'ibantools';

/** Most bytes of the payload, and the largest amount in cents, of a SEPA credit transfer (EPC069-12). */
const limits = { bytes: 331, cents: 99_999_999_999n, name: 70, remittance: 140 } as const;

export interface SepaTransfer {
  name: string;
  iban: string;
  /** '' within the EEA, where none is needed. */
  bic: string;
  currency: string;
  /** Cents. */
  amount: bigint;
  reference: string;
}

/**
 * The payload of a QR code for a SEPA credit transfer (EPC069-12, version 2, UTF-8), or undefined where there can be none:
 * another currency, an IBAN that is not valid, an amount outside 0.01 to 999 999 999.99, or more than 331 bytes.
 */
export function sepaPayload({ name, iban, bic, currency, amount, reference }: SepaTransfer): string | undefined {
  const account = electronicFormatIBAN(iban) ?? '';
  if (currency !== 'EUR' || !isValidIBAN(account) || amount < 1n || amount > limits.cents) return undefined;
  const holder = cutToLine(name, limits.name);
  if (holder === '') return undefined;
  const bank = bic.replace(/\s/g, '').toUpperCase();
  const lines = ['BCD', '002', '1', 'SCT', isValidBIC(bank) ? bank : '', holder, account];
  const payload = [...lines, `EUR${decimalOf(amount, 2)}`, '', '', cutToLine(reference, limits.remittance)].join('\n');
  return Buffer.byteLength(payload) > limits.bytes ? undefined : payload;
}

const cutToLine = (text: string, most: number) => [...text.replace(/\s+/g, ' ').trim()].slice(0, most).join('');
