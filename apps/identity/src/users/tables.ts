import type {
  Gateway as GatewayShape,
  MerchantMultiCurrencyConfig,
  Plan as PlanShape,
  Product as ProductShape,
  Subscription as SubscriptionShape,
  User as UserShape,
} from '@recur/contracts';
import { document, flag, int, integer, table, text } from '@recur/platform';

/** What a user tells of itself that nothing is found by, under the names of the answer; what is blank is left out. */
export type Profile = Partial<
  Pick<
    UserShape,
    | 'city'
    | 'companyName'
    | 'countryCode'
    | 'countryName'
    | 'facebook'
    | 'gatewayPaymentType'
    | 'linkedIn'
    | 'metadata'
    | 'otherSocialInfo'
    | 'paymentMethod'
    | 'registrationNumber'
    | 'state'
    | 'telegram'
    | 'tikTok'
    | 'vATNumber'
    | 'weChat'
    | 'whatsAPP'
    | 'zipCode'
  >
>;

/** How many users were created in one day or one minute, as far as one shard has counted; a trigger keeps it. */
export interface UserTally {
  merchantId: number;
  /** Seconds: 86400 or 60. */
  span: number;
  startTime: number;
  shard: number;
  n: number;
}

/** A copy of billing's gateway, as its events show it. */
export interface GatewayCopy {
  merchantId: number;
  id: number;
  archived: boolean;
  data: GatewayShape;
  version: number;
}

/** A copy of billing's subscription. Of those of a user, a trigger shows one in the user's row. */
export interface SubscriptionCopy {
  merchantId: number;
  id: string;
  userId: number;
  productId: number;
  planId: number;
  status: number;
  amount: number;
  createTime: number;
  data: SubscriptionShape;
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
  data: PlanShape;
  version: number;
}

/** A copy of catalog's product. */
export interface ProductCopy {
  merchantId: number;
  id: number;
  deleted: boolean;
  data: ProductShape;
  version: number;
}

/** What a member has noted on a user. */
export interface AdminNote {
  merchantId: number;
  id: number;
  userId: number;
  memberId: number;
  note: string;
  createTime: number;
}

/** catalog's: all rule sets of a merchant, in one row. */
export interface CurrencyCopy {
  merchantId: number;
  sets: MerchantMultiCurrencyConfig[];
  version: number;
}

/** A session of the hosted pages, found by the hash of the secret that the user's browser has. */
export interface ClientSession {
  /** SHA-256, base64url. */
  sessionHash: string;
  merchantId: number;
  userId: number;
  returnUrl: string;
  cancelUrl: string;
  /** What it was opened for; 0 and '' where nothing was said. */
  productId: number;
  planId: number;
  /** The subscription to update. */
  subscriptionId: string;
  vatCountryCode: string;
  /** Unix seconds on the merchant's clock. */
  expireTime: number;
  /** Unix seconds of the machine: from then on it is expired wherever the merchant's clock, never behind, has come to. */
  removeTime: number;
}

export const userTallies = table<UserTally>('user_tallies', {
  key: ['merchantId', 'span', 'startTime', 'shard'],
  columns: { merchantId: integer(), span: int(), startTime: integer(), shard: int(), n: integer() },
});

export const gateways = table<GatewayCopy>('gateway_copies', {
  key: ['merchantId', 'id'],
  columns: { merchantId: integer(), id: integer(), archived: flag(), data: document<GatewayShape>(), version: int() },
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
    data: document<SubscriptionShape>(),
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
    data: document<PlanShape>(),
    version: int(),
  },
});

export const products = table<ProductCopy>('product_copies', {
  key: ['merchantId', 'id'],
  columns: { merchantId: integer(), id: integer(), deleted: flag(), data: document<ProductShape>(), version: int() },
});

export const currencyRules = table<CurrencyCopy>('currency_copies', {
  key: ['merchantId'],
  columns: { merchantId: integer(), sets: document<MerchantMultiCurrencyConfig[]>(), version: int() },
});

export const adminNotes = table<AdminNote>('admin_notes', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    userId: integer(),
    memberId: integer(),
    note: text(),
    createTime: integer(),
  },
  indices: { admin_notes_user: { on: ['merchantId', 'userId', 'createTime', 'id'] } },
});

export const clientSessions = table<ClientSession>('client_sessions', {
  key: ['sessionHash'],
  columns: {
    sessionHash: text(),
    merchantId: integer(),
    userId: integer(),
    returnUrl: text(),
    cancelUrl: text(),
    productId: { ...integer(), default: 0 },
    planId: { ...integer(), default: 0 },
    subscriptionId: { ...text(), default: '' },
    vatCountryCode: { ...text(), default: '' },
    expireTime: integer(),
    removeTime: integer(),
  },
  indices: { client_sessions_remove: { on: ['removeTime'] } },
  infrastructure: true,
});
