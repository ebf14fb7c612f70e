import { Controller } from '@nestjs/common';
import { creditAccountType, editCreditConfig, type In, listCreditConfigs, newCreditConfig } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Reader } from '@recur/platform';
import type { AccountType, CreditConfig } from './domain/config.js';
import { creditConfigs } from './tables.js';
import { creditConfig, creditConfigView, type Totals } from './views.js';

/** Settings of credit accounts, one per type and currency. */
@Controller()
export class CreditConfigs {
  constructor(private readonly db: Db) {}

  @Handle(listCreditConfigs)
  list({ currency, types }: In<typeof listCreditConfigs>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const where = currency === '' ? {} : { currency };
      const [rows, totals] = await Promise.all([
        reader.all(creditConfigs, where, 'order by config_id'),
        accountTotals(reader),
      ]);
      const asked = rows.filter(({ type }) => types.length === 0 || types.includes(creditAccountType[type]));
      return { creditConfigs: asked.map(row => creditConfigView(row, totals.get(configKey(row)))) };
    });
  }

  @Handle(newCreditConfig)
  create(input: In<typeof newCreditConfig>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const type = accountTypeOf(input.type);
      const { currency } = input;
      const config: CreditConfig = {
        ...configSettings(input),
        merchantId: tx.merchantId,
        configId: await tx.nextId(creditConfigs),
        type,
        currency,
        createTime: tx.now,
        version: 0,
      } as CreditConfig;
      assertExchangeRate(config);
      const exists = () => new Rejected('credit_config_exists', `There is a config of ${type} accounts in ${currency}`);
      tx.onConflict('credit_configs_one', exists);
      tx.step(creditConfig, config, 'credit.config.created', { log: 'New' });
      return { creditConfig: await shownConfig(tx, config) };
    });
  }

  @Handle(editCreditConfig)
  edit(input: In<typeof editCreditConfig>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const which = { type: accountTypeOf(input.type), currency: input.currency };
      const config = await tx.lock(creditConfig, which, 'credit_config_not_found');
      const edited: CreditConfig = { ...config, ...configSettings(input) };
      assertExchangeRate(edited);
      const changed = JSON.stringify(creditConfigView(edited)) !== JSON.stringify(creditConfigView(config));
      if (changed) tx.step(creditConfig, edited, 'credit.config.updated', { log: 'Edit' });
      return { creditConfig: await shownConfig(tx, edited) };
    });
  }
}

const accountTypeOf = (code: number): AccountType => (code === creditAccountType.main ? 'main' : 'promo');

type Input = In<typeof editCreditConfig>;

/** The settings that an input gives. */
function configSettings(input: Input): Partial<CreditConfig> {
  const { name, description, logo, logoUrl, metaData, exchangeRate } = input;
  const flags = ['recurring', 'discountCodeExclusive', 'previewDefaultUsed', 'payoutEnable', 'rechargeEnable'] as const;
  const given = {
    name,
    description,
    logo,
    logoUrl,
    metaData,
    exchangeRate: exchangeRate === undefined ? undefined : BigInt(exchangeRate),
    ...Object.fromEntries(flags.map(flag => [flag, input[flag] === undefined ? undefined : input[flag] === 1])),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function assertExchangeRate({ type, exchangeRate }: CreditConfig): void {
  if (type === 'main' && exchangeRate !== 100n) {
    throw invalid('/exchangeRate', `is ${exchangeRate}: the amounts of main accounts are money, at 100`);
  }
}

const configKey = ({ type, currency }: Pick<CreditConfig, 'type' | 'currency'>) => `${type} ${currency}`;

async function shownConfig(reader: Reader, config: CreditConfig) {
  const totals = await accountTotals(reader, config);
  return creditConfigView(config, totals.get(configKey(config)));
}

/** Totals of all accounts per type and currency, or of one of them. */
async function accountTotals(
  reader: Reader,
  only?: Pick<CreditConfig, 'type' | 'currency'>,
): Promise<ReadonlyMap<string, Totals>> {
  const rows = await reader.query(
    `select type, currency, sum(total_increment) as increment, sum(total_decrement) as decrement from credit_accounts
     where merchant_id = $1 ${only ? 'and currency = $2 and type = $3' : ''} group by type, currency`,
    [reader.merchantId, ...(only ? [only.currency, only.type] : [])],
  );
  return new Map(
    rows.map(({ type, currency, increment, decrement }) => [
      `${type} ${currency}`,
      { increment: BigInt(String(increment)), decrement: BigInt(String(decrement)) },
    ]),
  );
}
