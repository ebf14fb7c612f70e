import {
  flag,
  int,
  integer,
  integers,
  oneOf,
  optionalInteger,
  optionalText,
  table,
  text,
  texts,
} from '@recur/platform';
import { type Endpoint, endpointLifecycle } from './domain/endpoint.js';

export interface EndpointRow extends Omit<Endpoint, 'events' | 'productIds' | 'disabledBecause'> {
  events: string[];
  productIds: number[];
  disabledBecause: string | null;
  /** Signing secret `whsec_…`, encrypted with the platform's Keyring. */
  sealedSecret: string;
  /** Previous secret, which also signs until `formerUntil` (unix seconds). */
  sealedFormer: string | null;
  formerUntil: number;
  /** Automation connection that registered the endpoint; null for the merchant's own. */
  connectionId: string | null;
  createTime: number;
  modifyTime: number;
  /** Unix seconds; 0 unless deleted. The row is kept, and so is the log of its attempts. */
  deletedTime: number;
  version: number;
}

export const endpoints = table<EndpointRow>('endpoints', {
  key: ['merchantId', 'endpointId'],
  columns: {
    merchantId: integer(),
    endpointId: integer(),
    url: text(),
    events: texts(),
    productIds: integers(),
    state: text(),
    disabledBecause: optionalText(),
    failures: int(),
    failingSinceMs: optionalInteger(),
    warned: flag(),
    ordered: { ...flag(), default: false },
    sealedSecret: text(),
    sealedFormer: optionalText(),
    formerUntil: { ...integer(), default: 0 },
    connectionId: optionalText(),
    createTime: integer(),
    modifyTime: integer(),
    deletedTime: { ...integer(), default: 0 },
    version: int(),
  },
  checks: { endpoints_state: oneOf('state', endpointLifecycle.states) },
  // read for every event
  indices: { endpoints_living: { on: ['merchantId', 'deletedTime', 'endpointId'] } },
});
