import { Controller } from '@nestjs/common';
import { type In, listVatCountries, type VatCountryRate, validateUsAddress } from '@recur/contracts';
import { type Caller, Db, Handle } from '@recur/platform';
import { percentageOf } from '../pricing/tax.js';
import { allCountries, standardRate } from './countries.js';
import { settingsOf } from './settings.js';
import { addressCandidates } from './us-addresses.js';

/** Countries and US addresses: answered from embedded tables. */
@Controller()
export class Places {
  constructor(private readonly db: Db) {}

  @Handle(listVatCountries)
  countries(_: In<typeof listVatCountries>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const { vatGateway } = await settingsOf(reader);
      const vatCountryList = allCountries().map(({ code, id, name, eu = false }): VatCountryRate => {
        const ratePpm = standardRate(code, reader.now);
        return {
          id,
          countryCode: code,
          countryName: name,
          gateway: eu ? (vatGateway?.name ?? '') : '',
          isEU: eu,
          mamo: '',
          standardTaxPercentage: percentageOf(ratePpm ?? 0),
          vatSupport: ratePpm !== undefined,
        };
      });
      return { vatCountryList };
    });
  }

  @Handle(validateUsAddress)
  async validate({ address }: In<typeof validateUsAddress>) {
    return { addresses: address ? addressCandidates(address) : [] };
  }
}
