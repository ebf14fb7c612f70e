import { z } from 'zod';
import { type Shape, text } from '../field.js';
import * as input from '../input.js';
import { spelled } from '../validate.js';

const gatewayBank = z.object({
  accountHolder: text,
  address: text,
  ABARoutingNumber: text,
  CNAPS: text,
  Remarks: text,
  accountNumber: text,
  bankName: text,
  bic: text,
  bsbCode: text,
  iban: text,
  swiftCode: text,
});
export interface GatewayBank extends z.output<typeof gatewayBank> {}
export const GatewayBank: Shape<GatewayBank> = gatewayBank.meta({ id: 'GatewayBank' });

/** The bank account that receives wire transfers. */
export const GatewayBankInput = z
  .object({
    accountHolder: input.filled,
    address: input.filled,
    ABARoutingNumber: input.line.default(''),
    CNAPS: input.line.default(''),
    Remarks: input.prose.default(''),
    accountNumber: input.line.default(''),
    bankName: input.line.default(''),
    bic: input.line.default(''),
    bsbCode: input.line.default(''),
    iban: input.line.default(''),
    swiftCode: input.line.default(''),
  })
  .meta({ 'x-shape': 'GatewayBankInput' });

const bankText = 'must be an object or its JSON text';
/** The bank account as an object or as its JSON text. */
export const GatewayBankOrText = z.union(
  [
    GatewayBankInput,
    input
      .rule(input.prose, bankText, value => input.jsonIn(value) !== undefined)
      .transform(text => spelled(GatewayBankInput, input.jsonIn(text)))
      .pipe(GatewayBankInput),
  ],
  { error: bankText },
);
