import { CreditAccount, Gateway, MerchantMultiCurrencyConfig, Plan, Product, Subscription } from '@recur/contracts';
import { flag, int, integer, shown, table, text } from '@recur/platform';

/** A copy of billing's gateway, as its events show it. */
export interface GatewayCopy {
  merchantId: number;
  id: number;
  archived: boolean;
  data: Gateway;
  version: number;
}

/** A copy of billing's subscription. A trigger shows one of a user's subscriptions in the user's row. */
export interface SubscriptionCopy {
  merchantId: number;
  id: string;
  userId: number;
  productId: number;
  planId: number;
  status: number;
  amount: number;
  createTime: number;
  data: Subscription;
  version: number;
}

/** A copy of catalog's plan. */
export interface PlanCopy {
  merchantId: number;
  id: number;
  productId: number;
  status: number;
  type: number;
  planName: string;
  data: Plan;
  version: number;
}

/** A copy of catalog's product. */
export interface ProductCopy {
  merchantId: number;
  id: number;
  deleted: boolean;
  data: Product;
  version: number;
}

/** A copy of billing's credit account. */
export interface CreditAccountCopy {
  merchantId: number;
  id: number;
  userId: number;
  data: CreditAccount;
  version: number;
}

/** A copy of catalog's currency rule sets: all sets of a merchant in one row. */
export interface CurrencyCopy {
  merchantId: number;
  sets: MerchantMultiCurrencyConfig[];
  version: number;
}

export const gateways = table<GatewayCopy>('gateway_copies', {
  key: ['merchantId', 'id'],
  columns: { merchantId: integer(), id: integer(), archived: flag(), data: shown(Gateway), version: int() },
});

export const subscriptions = table<SubscriptionCopy>('subscription_copies', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: text(),
    userId: integer(),
    productId: integer(),
    planId: integer(),
    status: int(),
    amount: integer(),
    createTime: integer(),
    data: shown(Subscription),
    version: int(),
  },
  indices: { subscription_copies_user: { on: ['merchantId', 'userId', 'createTime', 'id'] } },
});

export const plans = table<PlanCopy>('plan_copies', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    productId: integer(),
    status: int(),
    type: int(),
    planName: text(),
    data: shown(Plan),
    version: int(),
  },
});

export const products = table<ProductCopy>('product_copies', {
  key: ['merchantId', 'id'],
  columns: { merchantId: integer(), id: integer(), deleted: flag(), data: shown(Product), version: int() },
});

export const creditAccounts = table<CreditAccountCopy>('credit_account_copies', {
  key: ['merchantId', 'id'],
  columns: { merchantId: integer(), id: integer(), userId: integer(), data: shown(CreditAccount), version: int() },
  indices: { credit_account_copies_user: { on: ['merchantId', 'userId', 'id'] } },
});

export const currencyRules = table<CurrencyCopy>('currency_copies', {
  key: ['merchantId'],
  columns: { merchantId: integer(), sets: shown(MerchantMultiCurrencyConfig.array()), version: int() },
});
