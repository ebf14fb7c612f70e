import { document, flag, int, integer, oneOf, table, text } from '@recur/platform';
import { type Checkout, checkoutLifecycle } from './domain/checkout.js';

export const checkouts = table<Checkout>('checkouts', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    version: int(),
    status: text(),
    name: text(),
    description: text(),
    isDefault: flag(),
    data: document(),
    stagingData: document(),
    createTime: integer(),
    modifyTime: integer(),
  },
  checks: {
    checkouts_status: oneOf('status', checkoutLifecycle.states),
    checkouts_default: `status = 'live' or not is_default`,
  },
  indices: {
    checkouts_listed: { on: ['merchantId', 'status', 'createTime', 'id'] },
    checkouts_one_default: { on: ['merchantId'], unique: true, where: 'is_default' },
  },
});
