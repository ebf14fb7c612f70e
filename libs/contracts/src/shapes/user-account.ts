import { z } from 'zod';
import { integer, type Shape } from '../field.js';
import { CreditAccount } from './credit.js';
import { Gateway } from './gateway.js';
import { userFields } from './user.js';

const userAccountDetail = z.object({
  ...userFields,
  creditAccounts: z.array(CreditAccount),
  promoCreditAccounts: z.array(CreditAccount),
  gateway: Gateway.nullable().describe('The one of gatewayId; null where that is 0'),
  planId: integer.describe('Of its subscription, 0 for none'),
});
/** A user with what belongs to others: its gateway, its credit accounts, its plan. */
export interface UserAccountDetail extends z.output<typeof userAccountDetail> {}
export const UserAccountDetail: Shape<UserAccountDetail> = userAccountDetail.meta({ id: 'UserAccountDetail' });
