import { MerchantCheckout, MerchantMetric, MerchantState, Plan, Product, User } from '@recur/contracts';
import { flag, int, integer, shown, table, text } from '@recur/platform';

export interface UserCopy {
  merchantId: number;
  id: number;
  status: number;
  gatewayId: number;
  /** The e-mail in lower case. */
  emailKey: string;
  /** '' for none. */
  externalUserId: string;
  data: User;
  version: number;
}

export interface PlanCopy {
  merchantId: number;
  id: number;
  status: number;
  data: Plan;
  version: number;
}

export interface ProductCopy {
  merchantId: number;
  id: number;
  data: Product;
  version: number;
}

export interface MetricCopy {
  merchantId: number;
  id: number;
  code: string;
  /** Deleted: its code may belong to another metric. */
  archived: boolean;
  data: MerchantMetric;
  version: number;
}

export interface CheckoutCopy {
  merchantId: number;
  id: number;
  isDefault: boolean;
  data: MerchantCheckout;
  version: number;
}

export interface MerchantCopy {
  merchantId: number;
  data: MerchantState;
  version: number;
}

export const users = table<UserCopy>('user_copies', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    status: int(),
    gatewayId: integer(),
    emailKey: { ...text(), default: '' },
    externalUserId: { ...text(), default: '' },
    data: shown(User),
    version: int(),
  },
  // not unique: a stale copy may still show the e-mail or external id that another user has taken over
  indices: {
    user_copies_email: { on: ['merchantId', 'emailKey'] },
    user_copies_external: { on: ['merchantId', 'externalUserId'] },
  },
});

export const plans = table<PlanCopy>('plan_copies', {
  key: ['merchantId', 'id'],
  columns: { merchantId: integer(), id: integer(), status: int(), data: shown(Plan), version: int() },
});

export const products = table<ProductCopy>('product_copies', {
  key: ['merchantId', 'id'],
  columns: { merchantId: integer(), id: integer(), data: shown(Product), version: int() },
});

export const checkouts = table<CheckoutCopy>('checkout_copies', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    isDefault: flag(),
    data: shown(MerchantCheckout),
    version: int(),
  },
});

export const merchants = table<MerchantCopy>('merchant_copies', {
  key: ['merchantId'],
  columns: { merchantId: integer(), data: shown(MerchantState), version: int() },
});

export const metrics = table<MetricCopy>('metric_copies', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    code: text(),
    archived: flag(),
    data: shown(MerchantMetric),
    version: int(),
  },
  indices: { metric_copies_code: { on: ['merchantId', 'code'] } },
});
