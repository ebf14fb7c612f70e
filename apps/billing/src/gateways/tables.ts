import { flag, int, integer, money, optionalText, table, text, texts } from '@recur/platform';
import type { Gateway } from './domain/gateway.js';

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
  },
  indices: {
    gateways_name: { on: ['merchantId', 'gatewayName'], unique: true },
    gateways_one_default: { on: ['merchantId'], unique: true, where: 'is_default' },
  },
});
