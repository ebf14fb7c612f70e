import type { Gateway } from '@recur/contracts';
import { copyOf } from '@recur/platform';
import { gateways } from './user-tables.js';

/** What identity decides from without asking: gateways of billing. */
export const copies = [
  copyOf('gateways', 'billing', 'gateway', gateways, (data: Gateway, merchantId, version) => ({
    merchantId,
    id: data.gatewayId,
    archived: data.archive,
    data,
    version,
  })),
];
