import type { Gateway as GatewayShape, User as UserShape } from '@recur/contracts';
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

/** A session of the hosted pages, found by the hash of the secret that the user's browser has. */
export interface ClientSession {
  /** SHA-256, base64url. */
  sessionHash: string;
  merchantId: number;
  userId: number;
  returnUrl: string;
  cancelUrl: string;
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

export const clientSessions = table<ClientSession>('client_sessions', {
  key: ['sessionHash'],
  columns: {
    sessionHash: text(),
    merchantId: integer(),
    userId: integer(),
    returnUrl: text(),
    cancelUrl: text(),
    expireTime: integer(),
    removeTime: integer(),
  },
  indices: { client_sessions_remove: { on: ['removeTime'] } },
  infrastructure: true,
});
