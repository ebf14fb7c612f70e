import { z } from 'zod';
import { subscriptionStatus, userBillingType, userStatus, userType } from '../codes.js';
import { amount, anyObject, code, integer, percent, type Shape, text, time } from '../field.js';
import { MemberShort } from './member.js';

/** What a user has of its own; a UserAccountDetail has the same and more. */
export const userFields = {
  id: integer,
  merchantId: integer,
  createTime: time,
  lastLoginAt: time,
  billingType: code(userBillingType),
  gatewayId: integer,
  isRisk: integer,
  isSpecial: integer,
  status: code(userStatus),
  subscriptionStatus: code(subscriptionStatus),
  type: code(userType),
  version: integer,
  recurringAmount: amount,
  taxPercentage: percent,
  address: text,
  avatarUrl: text,
  birthday: text,
  city: text,
  companyName: text,
  countryCode: text,
  countryName: text,
  custom: text,
  email: text,
  externalUserId: text,
  facebook: text,
  firstName: text,
  gatewayPaymentType: text,
  gender: text,
  language: text,
  lastName: text,
  linkedIn: text,
  mobile: text,
  otherSocialInfo: text,
  paymentMethod: text,
  phone: text,
  registrationNumber: text,
  school: text,
  state: text,
  subscriptionId: text,
  subscriptionName: text,
  telegram: text,
  tikTok: text,
  timeZone: text,
  userName: text,
  vATNumber: text,
  weChat: text,
  whatsAPP: text,
  zipCode: text,
  metadata: anyObject,
};
const user = z.object(userFields);
export interface User extends z.output<typeof user> {}
export const User: Shape<User> = user.meta({ id: 'User' });

const userAdminNote = z.object({
  id: integer,
  createTime: time,
  merchantMemberId: integer,
  userId: integer,
  note: text,
  merchantMember: MemberShort.nullable(),
  userAccount: User.nullable(),
});
export interface UserAdminNote extends z.output<typeof userAdminNote> {}
export const UserAdminNote: Shape<UserAdminNote> = userAdminNote.meta({ id: 'UserAdminNote' });
