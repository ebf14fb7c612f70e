import { z } from 'zod';
import { integer, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { anyUser, operation } from '../operation.js';
import { PortalUser } from './account.js';

const portalMerchant = z.object({
  name: text,
  companyName: text,
  companyLogo: text,
  homeUrl: text,
  email: text,
  phone: text,
  timeZone: text,
});
export interface PortalMerchant extends z.output<typeof portalMerchant> {}
/** A merchant as its users see it on the hosted pages. */
export const PortalMerchant: Shape<PortalMerchant> = portalMerchant.meta({ id: 'PortalMerchant' });

const token = {
  token: text.describe("A token of the user, for the operations under /portal; to be kept in the page's memory only"),
  expiresAt: time.describe('Unix second in real time at which the token expires; session/refresh answers a new one'),
  endsAt: time.describe('Unix second in real time after which tokens of this session are no longer refreshed'),
};

export const portalSessionExchange = operation({
  service: 'identity',
  name: 'portal.session_exchange',
  methods: ['POST'],
  path: '/portal/session/exchange',
  summary: 'Exchange the client session of a link, once, for a short-lived token of its user',
  effect: 'write',
  permission: anyUser,
  anonymous: true,
  input: z.object({ clientSession: input.filledKey }),
  output: z.object({
    ...token,
    purpose: z
      .enum(['portal', 'change_plan'])
      .describe('The page that the link was made for; a link to a checkout says so by its own address'),
    user: PortalUser,
    merchant: PortalMerchant,
    productId: integer.describe('The product to show; 0: the default product'),
    planId: integer.describe('The plan to offer; 0: none'),
    subscriptionId: text.describe("The subscription to change; '' for none"),
    vatCountryCode: text,
    returnUrl: text.describe("Where the pages lead when done; '' for nowhere"),
    cancelUrl: text.describe("Where the pages lead when left; '' for nowhere"),
  }),
  errors: ['client_session_used', 'client_session_expired', 'user_inactive'],
  secretInput: true,
  secretOutput: true,
});

export const portalSessionRefresh = operation({
  service: 'identity',
  name: 'portal.session_refresh',
  methods: ['POST'],
  path: '/portal/session/refresh',
  summary: "A new token for the caller's session, whose exchange was at most 8 hours ago",
  effect: 'read',
  permission: anyUser,
  input: z.object({}),
  output: z.object(token),
  errors: ['client_session_expired', 'user_inactive'],
});
