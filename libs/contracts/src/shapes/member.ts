import { z } from 'zod';
import { memberStatus, optAccountType, totpType } from '../codes.js';
import { code, flag, integer, type Shape, text, time } from '../field.js';

const merchantRolePermission = z.object({
  group: text,
  permissions: z.array(text),
});
export interface MerchantRolePermission extends z.output<typeof merchantRolePermission> {}
export const MerchantRolePermission: Shape<MerchantRolePermission> = merchantRolePermission.meta({
  id: 'MerchantRolePermission',
});

const merchantRole = z.object({
  id: integer,
  merchantId: integer,
  createTime: time,
  role: text,
  permissions: z.array(MerchantRolePermission),
});
export interface MerchantRole extends z.output<typeof merchantRole> {}
export const MerchantRole: Shape<MerchantRole> = merchantRole.meta({ id: 'MerchantRole' });

const memberDevice = z.object({
  currentDevice: flag,
  identity: text,
  ipAddress: text,
  name: text,
  lastActiveTime: time,
  lastLoginTime: time,
  lastTotpVerificationTime: time,
  status: flag,
});
export interface MemberDevice extends z.output<typeof memberDevice> {}
export const MemberDevice: Shape<MemberDevice> = memberDevice.meta({ id: 'MemberDevice' });

const oauthAccount = z.object({
  email: text,
  image: text,
  name: text,
  provider: text,
  providerId: text,
  emailVerified: flag,
});
export interface OauthAccount extends z.output<typeof oauthAccount> {}
export const OauthAccount: Shape<OauthAccount> = oauthAccount.meta({ id: 'OauthAccount' });

const merchantMember = z.object({
  id: integer,
  merchantId: integer,
  email: text,
  firstName: text,
  lastName: text,
  mobile: text,
  createTime: time,
  isOwner: flag,
  isBlankPasswd: flag,
  status: code(memberStatus),
  totpType: code(totpType),
  currentDeviceIdentity: text,
  deviceList: z.array(MemberDevice),
  MemberRoles: z.array(MerchantRole),
  MemberGroupPermission: z.record(z.string(), MerchantRolePermission),
  oauthAccounts: z.array(OauthAccount),
});
export interface MerchantMember extends z.output<typeof merchantMember> {}
export const MerchantMember: Shape<MerchantMember> = merchantMember.meta({ id: 'MerchantMember' });

const memberShort = z.object({
  createTime: time,
  id: integer,
  merchantId: integer,
  email: text,
  firstName: text,
  lastName: text,
  isOwner: flag,
});
export interface MemberShort extends z.output<typeof memberShort> {}
export const MemberShort: Shape<MemberShort> = memberShort.meta({ id: 'MemberShort' });

const operationLogEntry = z.object({
  createTime: time,
  id: integer,
  memberId: integer,
  merchantId: integer,
  optAccountType: code(optAccountType),
  planId: integer,
  userId: integer,
  discountCode: text,
  invoiceId: text,
  optAccount: text,
  optAccountId: text,
  optContent: text,
  optTarget: text,
  subscriptionId: text,
  member: MemberShort.nullable(),
});
export interface OperationLogEntry extends z.output<typeof operationLogEntry> {}
export const OperationLogEntry: Shape<OperationLogEntry> = operationLogEntry.meta({
  id: 'OperationLogEntry',
});
