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
  /** Unix seconds of the machine, as are all below: until then the session can be exchanged. */
  expireTime: number;
  /** When it was exchanged for a token; 0 if it was not. */
  exchangeTime: number;
  /** When the row is of no more use. */
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
    exchangeTime: { ...integer(), default: 0 },
    removeTime: integer(),
  },
  indices: { client_sessions_remove: { on: ['removeTime'] } },
  infrastructure: true,
});
