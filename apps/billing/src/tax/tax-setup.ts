import { Controller } from '@nestjs/common';
import {
  type Address,
  type In,
  listUsRates,
  setNexus,
  setTaxExemption,
  setUsRates,
  setupVatGateway,
  type UsRate,
} from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle } from '@recur/platform';
import { findUser } from '../customers/users.js';
import { changeTaxSettings } from './settings.js';
import { taxExemptions, type UsTaxRate, usTaxRates } from './tables.js';
import { stateCode } from './us-places.js';
import { parseVatNumber } from './vat-number.js';

/** Tax settings of a merchant. */
@Controller()
export class TaxSetup {
  constructor(private readonly db: Db) {}

  @Handle(setupVatGateway)
  async setupGateway({ gatewayName, data, IsDefault }: In<typeof setupVatGateway>, caller: Caller) {
    const requester = data.trim() === '' ? '' : await ownNumber(data);
    return this.db.write(caller, async tx => {
      await changeTaxSettings(tx, { vatGateway: { name: gatewayName, requester, isDefault: IsDefault } });
      tx.log(`VatGateway(${gatewayName})`, 'Setup');
      return { data: requester };
    });
  }

  @Handle(setNexus)
  async nexus(input: In<typeof setNexus>, caller: Caller) {
    const nexusAddresses = input.nexusAddresses.map((address, at): Address => {
      if (!/^(us)?$/i.test(address.countryCode)) throw invalid(`/nexusAddresses/${at}/countryCode`, 'must be US');
      const state = knownState(address.state, `/nexusAddresses/${at}/state`);
      return { ...address, countryCode: 'US', state, verified: false };
    });
    return this.db.write(caller, async tx => {
      await changeTaxSettings(tx, { nexusAddresses });
      tx.log('Tax(nexus)', 'Update');
      return { nexusAddresses };
    });
  }

  @Handle(setUsRates)
  async rates(input: In<typeof setUsRates>, caller: Caller) {
    const rates = input.rates.map((rate, at) => ({ ...rate, state: knownState(rate.state, `/rates/${at}/state`) }));
    assertDistinct(rates);
    return this.db.write(caller, async tx => {
      // the row lock lets one command at a time replace the rates
      await changeTaxSettings(tx, {});
      await tx.run('delete from us_tax_rates where merchant_id = $1', [tx.merchantId]);
      for (const rate of rates) tx.save(usTaxRates, taxRateRow(rate, tx.merchantId));
      tx.log('Tax(us_rates)', 'Update');
      return { rates };
    });
  }

  @Handle(listUsRates)
  listRates(_: In<typeof listUsRates>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const rows = await reader.all(usTaxRates, {}, 'order by state, zip, from_time');
      return { rates: rows.map(viewOf) };
    });
  }

  @Handle(setTaxExemption)
  exempt({ userId, exempt, reason, validUntil }: In<typeof setTaxExemption>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const user = await findUser(tx, { userId });
      if (!user) throw tx.stale('users', userId, new Rejected('user_not_found'));
      tx.onConflict('tax_exemptions_pkey', 'again');
      const current = await tx.lockIfAny(taxExemptions, { userId });
      if (exempt) {
        const { merchantId, now } = tx;
        tx.save(taxExemptions, { merchantId, userId, reason, validUntil, createTime: current?.createTime ?? now });
      } else if (current) {
        await tx.run('delete from tax_exemptions where merchant_id = $1 and user_id = $2', [tx.merchantId, userId]);
      } else {
        return {};
      }
      tx.log(`User(${userId})`, exempt ? 'TaxExempt' : 'TaxExemptionEnd', { userId });
      return {};
    });
  }
}

/** The merchant's own VAT number, by which VIES knows who asks. */
async function ownNumber(data: string): Promise<string> {
  const { number, wellFormed, inVies } = await parseVatNumber(data);
  if (!wellFormed || !inVies) throw invalid('/data', 'must be your VAT number in the EU, with its prefix, or blank');
  return number;
}

function knownState(state: string, path: string): string {
  const code = stateCode(state);
  if (code === undefined) throw invalid(path, 'must be the code or name of a US state');
  return code;
}

function assertDistinct(rates: readonly UsRate[]): void {
  const seen = new Set<string>();
  rates.forEach(({ state, zip, from }, at) => {
    const key = `${state} ${zip} ${from}`;
    if (seen.has(key)) throw invalid(`/rates/${at}/from`, 'must differ from that of the other rates of this place');
    seen.add(key);
  });
}

const taxRateRow = ({ from, to, ...rate }: UsRate, merchantId: number): UsTaxRate => ({
  ...rate,
  merchantId,
  fromTime: from,
  toTime: to,
});

const viewOf = ({ state, zip, ratePpm, fromTime, toTime }: UsTaxRate): UsRate => ({
  state,
  zip,
  ratePpm,
  from: fromTime,
  to: toTime,
});
