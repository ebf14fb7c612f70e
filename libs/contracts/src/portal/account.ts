import { z } from 'zod';
import type { Shape } from '../field.js';
import { userFields } from '../identity/user-shape.js';
import { updateUser } from '../identity/users.js';
import { anyUser, operation } from '../operation.js';

/** Fields that a user may change. */
const own = {
  type: true,
  firstName: true,
  lastName: true,
  phone: true,
  address: true,
  city: true,
  state: true,
  zipCode: true,
  countryCode: true,
  countryName: true,
  companyName: true,
  registrationNumber: true,
  vATNumber: true,
  language: true,
} as const;

const portalUser = z.object(userFields).pick({ id: true, email: true, ...own });
export interface PortalUser extends z.output<typeof portalUser> {}
/** A user as the hosted pages show it to that user: without what the merchant keeps for itself. */
export const PortalUser: Shape<PortalUser> = portalUser.meta({ id: 'PortalUser' });

export const portalUserDetail = operation({
  service: 'identity',
  name: 'portal.user_detail',
  methods: ['GET'],
  path: '/portal/user/detail',
  summary: 'The user of the session with their billing details',
  effect: 'read',
  permission: anyUser,
  input: z.object({}),
  output: z.object({ user: PortalUser }),
  errors: [],
});

export const portalUserUpdate = operation({
  service: 'identity',
  name: 'portal.user_update',
  methods: ['POST'],
  path: '/portal/user/update',
  summary: 'Update the billing details sent; a blank text clears its field',
  effect: 'write',
  permission: anyUser,
  input: updateUser.input.pick(own),
  output: z.object({ user: PortalUser }),
  errors: [],
});
