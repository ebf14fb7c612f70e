import { emptyOf, ValidResult } from '@recur/contracts';
import type { Reader } from '@recur/platform';
import { parseVatNumber } from '../../tax/vat-number.js';
import { answerAbout } from '../../tax/vat-numbers.js';

/** Standing of a VAT number: its format and checksum, and the newest answer of VIES, which is not asked here. */
export async function numberAnswer(reader: Reader, text: string): Promise<ValidResult> {
  const { number: vatNumber, countryCode, wellFormed, message } = await parseVatNumber(text);
  const answer = await answerAbout(reader, vatNumber);
  const known = answer && `VIES says that the number is ${answer.valid ? 'valid' : 'invalid'}`;
  return {
    ...emptyOf(ValidResult),
    vatNumber,
    countryCode,
    valid: answer?.valid ?? wellFormed,
    validateMessage: known ?? message,
  };
}
