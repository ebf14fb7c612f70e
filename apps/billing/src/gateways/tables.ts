import {
  document,
  flag,
  int,
  integer,
  money,
  optionalDocument,
  optionalText,
  table,
  text,
  texts,
} from '@recur/platform';
import type { Gateway, GatewaySettings } from './domain/gateway.js';

export const gateways = table<Gateway>('gateways', {
  key: ['merchantId', 'gatewayId'],
  columns: {
    merchantId: integer(),
    gatewayId: integer(),
    gatewayName: text(),
    gatewayType: int(),
    displayName: text(),
    currency: text(),
    minimumAmount: money(),
    sort: int(),
    icons: texts(),
    isDefault: flag(),
    archived: flag(),
    sealedBank: optionalText(),
    createTime: integer(),
    version: int(),
    settings: optionalDocument<GatewaySettings>(),
    sealedKey: optionalText(),
    sealedSecret: optionalText(),
    sealedWebhookSecret: optionalText(),
  },
  indices: {
    gateways_name: { on: ['merchantId', 'gatewayName'], unique: true },
    gateways_one_default: { on: ['merchantId'], unique: true, where: 'is_default' },
  },
});

/** A user as a gateway knows it. */
export interface GatewayUser {
  merchantId: number;
  gatewayId: number;
  userId: number;
  /** The gateway's own id of the user. */
  gatewayUserId: string;
}

/** A user's saved payment method. */
export interface PaymentMethodRow {
  merchantId: number;
  methodId: string;
  gatewayId: number;
  userId: number;
  type: string;
  isDefault: boolean;
  /** Shown by the gateway: brand, last4. */
  data: Record<string, unknown>;
  /** The gateway's own id of the method. */
  gatewayMethodId: string;
  createTime: number;
}

export const gatewayUsers = table<GatewayUser>('gateway_users', {
  key: ['merchantId', 'gatewayId', 'userId'],
  columns: { merchantId: integer(), gatewayId: integer(), userId: integer(), gatewayUserId: text() },
  indices: { gateway_users_theirs: { on: ['merchantId', 'gatewayId', 'gatewayUserId'] } },
});

export const paymentMethods = table<PaymentMethodRow>('payment_methods', {
  key: ['merchantId', 'methodId'],
  columns: {
    merchantId: integer(),
    methodId: text(),
    gatewayId: integer(),
    userId: integer(),
    type: text(),
    isDefault: flag(),
    data: document<Record<string, unknown>>(),
    gatewayMethodId: text(),
    createTime: integer(),
  },
  indices: {
    payment_methods_one_default: { on: ['merchantId', 'gatewayId', 'userId'], unique: true, where: 'is_default' },
    payment_methods_once: { on: ['merchantId', 'gatewayId', 'userId', 'gatewayMethodId'], unique: true },
  },
});
