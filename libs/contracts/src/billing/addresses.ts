import { z } from 'zod';
import { flag, type Shape, text } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';

const address = z.object({
  address: text,
  city: text,
  countryCode: text,
  state: text,
  zipCode: text,
  verified: flag,
});
export interface Address extends z.output<typeof address> {}
export const Address: Shape<Address> = address.meta({ id: 'Address' });

const usVatConfig = z.object({
  active: flag,
  sellOnUSOnly: flag,
  fromAddress: Address.nullable(),
  toAddress: Address.nullable(),
  nexusAddresses: z.array(Address),
  taxCode: text,
});
export interface UsVatConfig extends z.output<typeof usVatConfig> {}
export const UsVatConfig: Shape<UsVatConfig> = usVatConfig.meta({ id: 'UsVatConfig' });

export const AddressInput = z
  .object({
    address: input.line.default(''),
    city: input.line.default(''),
    countryCode: input.line.default(''),
    state: input.line.default(''),
    zipCode: input.line.default(''),
    verified: input.flag.default(false),
  })
  .meta({ 'x-shape': 'AddressInput' });

export const UsVatConfigInput = z
  .object({
    active: input.flag.default(false),
    sellOnUSOnly: input.flag.default(false),
    fromAddress: AddressInput.optional(),
    toAddress: AddressInput.optional(),
    nexusAddresses: input.list(AddressInput).default([]),
    taxCode: input.line.default(''),
  })
  .meta({ 'x-shape': 'UsVatConfigInput' });

const UsAddressInput = AddressInput.extend({
  countryCode: input.rule(AddressInput.shape.countryCode.unwrap(), 'must be US', code => code.toUpperCase() === 'US'),
}).meta({ 'x-shape': 'UsAddressInput' });

export const validateUsAddress = operation({
  service: 'billing',
  name: 'vat.us_vat_validate_address',
  methods: ['POST'],
  path: '/merchant/vat/us_vat_validate_address',
  summary: 'Normalized candidates for a US address; verified if ZIP, state and city agree',
  effect: 'read',
  permission: 'configuration.read',
  input: z.object({ address: UsAddressInput.optional() }),
  output: z.object({ addresses: z.array(Address) }),
  errors: [],
});
