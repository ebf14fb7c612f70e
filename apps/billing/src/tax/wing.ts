import { CONFIG, type Wing } from '@recur/platform';
import type { Config } from '../config.js';
import { Countries } from './countries.js';
import { taxExemptions, taxSettings, usTaxRates, vatNumberChecks, vatNumbers } from './tables.js';
import { TaxSetup } from './tax-setup.js';
import { VatNumberOperations, VatNumbers, vatNumberAggregate } from './vat-numbers.js';
import { Vies } from './vies.js';

/** Rates of sales, VAT numbers, and the tax setup of merchants. */
export const taxWing: Wing = {
  tables: [taxSettings, taxExemptions, usTaxRates, vatNumbers, vatNumberChecks],
  aggregates: { vat_number: vatNumberAggregate },
  controllers: [Countries, TaxSetup, VatNumberOperations],
  providers: [VatNumbers, { provide: Vies, useFactory: (settings: Config) => new Vies(settings), inject: [CONFIG] }],
  work: app => [app.get(VatNumbers).work],
};
