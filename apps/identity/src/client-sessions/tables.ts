import { integer, table, text } from '@recur/platform';

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
