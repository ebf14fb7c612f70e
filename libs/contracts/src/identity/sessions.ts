import { z } from 'zod';
import { text } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';

export const newSession = operation({
  service: 'identity',
  name: 'session.new_session',
  methods: ['POST'],
  path: '/merchant/session/new_session',
  summary: 'Find or create a user and open a client session for the hosted pages',
  effect: 'write',
  permission: 'user.write',
  input: z.object({
    email: input.email,
    address: input.line.optional(),
    firstName: input.line.optional(),
    lastName: input.line.optional(),
    password: input.line
      .optional()
      .describe("Set when the user is created; an existing user's password does not change"),
    phone: input.line.optional(),
    externalUserId: input.externalId.optional().describe('The user is found by this id, else by email'),
    returnUrl: input.returnUrl.optional(),
    cancelUrl: input.returnUrl.optional(),
  }),
  output: z.object({
    clientSession: text.describe('Opens the hosted pages for this user; valid for 10 hours'),
    clientToken: text.describe('A signed user token for the hosted pages; valid for 10 minutes'),
    email: text,
    externalUserId: text,
    url: text,
    userId: text.describe('The id of the user; a string here and only here'),
  }),
  errors: ['user_inactive'],
  secretOutput: true,
});

/** Requires a user to be identified by userId, else by externalUserId or e-mail; 0 and '' count as absent. */
const namesUser = <S extends z.ZodType<{ userId?: number; externalUserId?: string; email?: string }>>(schema: S) =>
  input.rule(schema, 'must identify the user by userId, externalUserId or email', ({ userId, externalUserId, email }) =>
    Boolean(userId || externalUserId || email),
  );

export const subscriptionUpdateUrl = operation({
  service: 'identity',
  name: 'session.user_sub_update_url',
  methods: ['POST'],
  path: '/merchant/session/user_sub_update_url',
  summary: 'The URL of the hosted page where a user changes their subscription',
  effect: 'write',
  permission: 'user.write',
  input: namesUser(
    z.object({
      userId: z.int().optional(),
      externalUserId: input.externalId.optional(),
      email: input.line.optional(),
      planId: z.int().optional().describe('The plan to switch to: an active main plan of the product'),
      productId: z.int().default(0).describe('The product whose subscription is updated; 0: the default product'),
      vatCountryCode: input.line.optional(),
      returnUrl: input.returnUrl.optional(),
      cancelUrl: input.returnUrl.optional(),
    }),
  ),
  output: z.object({ url: text }),
  errors: ['user_not_found', 'user_inactive', 'subscription_not_found', 'plan_not_found', 'plan_not_active'],
  secretOutput: true,
});

export const customerPortalUrl = operation({
  service: 'identity',
  name: 'session.customer_portal_url',
  methods: ['GET'],
  path: '/merchant/session/customer_portal_url',
  summary: 'Open a client session and return the URL of the client portal for a user',
  effect: 'write',
  permission: 'user.write',
  input: namesUser(
    z.object({
      email: input.line.optional(),
      userId: input.q.int().optional(),
      externalUserId: input.externalId.optional(),
      productId: input.q.int().default(0).describe('The product shown in the portal; 0: the default product'),
      planId: input.q.int().optional().describe('The plan to offer: an active main plan of the product'),
      vatCountryCode: input.line.optional(),
      returnUrl: input.returnUrl.optional(),
      cancelUrl: input.returnUrl.optional(),
    }),
  ),
  output: z.object({ url: text }),
  errors: ['user_not_found', 'user_inactive', 'product_not_found', 'plan_not_found', 'plan_not_active'],
  secretOutput: true,
});
