import { integer, table, text } from '@recur/platform';

/** A session of the hosted pages, found by the hash of the secret in the user's browser. */
export interface ClientSession {
  /** SHA-256, base64url. */
  sessionHash: string;
  merchantId: number;
  userId: number;
  returnUrl: string;
  cancelUrl: string;
  /** The product to show; 0 for none. The fields below are likewise 0 or '' for none. */
  productId: number;
  planId: number;
  /** The subscription to update. */
  subscriptionId: string;
  vatCountryCode: string;
  /** Unix seconds on the merchant's clock. */
  expireTime: number;
  /** Unix seconds of the machine. By then it has expired on the merchant's clock, which is never behind. */
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
