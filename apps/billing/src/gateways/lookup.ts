import type { Reader } from '@recur/platform';
import type { Gateway } from './domain/gateway.js';
import { gateways } from './tables.js';

/** All gateways of the merchant, archived ones included: they are few. */
export const allGateways = (reader: Reader): Promise<Gateway[]> => reader.all(gateways, {});

export const gatewaysById = async (reader: Reader): Promise<ReadonlyMap<number, Gateway>> =>
  new Map((await allGateways(reader)).map(gateway => [gateway.gatewayId, gateway]));

export const findGateway = (reader: Reader, gatewayId: number): Promise<Gateway | undefined> =>
  reader.find(gateways, { gatewayId });

/** Throws Rejected `gateway_not_found`. */
export const getGateway = (reader: Reader, gatewayId: number): Promise<Gateway> =>
  reader.get(gateways, { gatewayId }, 'gateway_not_found');
