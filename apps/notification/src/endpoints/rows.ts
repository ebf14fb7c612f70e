import { type ErrorSlug, Rejected } from '@recur/kernel';
import type { Reader, Tx } from '@recur/platform';
import { endpointAggregate } from './aggregate.js';
import type { Endpoint } from './domain/endpoint.js';
import { type EndpointRow, endpoints } from './tables.js';

/** Condition that selects an endpoint unless it is deleted. */
const living = (endpointId: number) => ({ endpointId, deletedTime: 0 });

/** All endpoints of the merchant that are not deleted. */
export const livingEndpoints = (tx: Tx): Promise<EndpointRow[]> => tx.all(endpoints, { deletedTime: 0 });

/** Rejects with `endpoint_not_found` when the endpoint does not exist or is deleted. */
export const findEndpoint = (reader: Reader, endpointId: number): Promise<EndpointRow> =>
  reader.get(endpoints, living(endpointId), 'endpoint_not_found');

/**
 * Locks an endpoint. Every transaction that changes existing deliveries of an endpoint locks its row first; several
 * endpoints are locked in the order of their ids.
 */
export const lockEndpoint = (
  tx: Tx,
  endpointId: number,
  slug: ErrorSlug = 'endpoint_not_found',
): Promise<EndpointRow> => tx.lock(endpointAggregate, living(endpointId), slug);

/** As `lockEndpoint`; undefined when the endpoint does not exist or is deleted. */
export const lockEndpointIfAny = (tx: Tx, endpointId: number): Promise<EndpointRow | undefined> =>
  tx.lockIfAny(endpointAggregate, living(endpointId));

/** As `lockEndpoint`; rejects with `endpoint_disabled` when nothing can be sent to the endpoint. */
export async function lockEnabledEndpoint(tx: Tx, endpointId: number, slug?: ErrorSlug): Promise<EndpointRow> {
  const endpoint = await lockEndpoint(tx, endpointId, slug);
  if (endpoint.state !== 'enabled') throw new Rejected('endpoint_disabled');
  return endpoint;
}

/** Endpoints that an automation connection has registered. */
export const endpointsOfConnection = (reader: Reader | Tx, connectionId: string, order: 'asc' | 'desc') =>
  reader.all(endpoints, { connectionId, deletedTime: 0 }, `order by endpoint_id ${order}`);

/** Locks an endpoint of an automation connection; `endpoint_not_found` for every other endpoint. */
export const lockEndpointOfConnection = (tx: Tx, endpointId: number, connectionId: string): Promise<EndpointRow> =>
  tx.lock(endpointAggregate, { ...living(endpointId), connectionId }, 'endpoint_not_found');

/**
 * Saves an endpoint's health after attempts to it, if that has changed. A notice is published as an event and logged. The
 * row is locked by the caller.
 */
export async function saveHealth(
  tx: Tx,
  before: EndpointRow,
  endpoint: Endpoint,
  notice?: 'failing' | 'disabled',
): Promise<void> {
  if (endpoint === before || JSON.stringify(endpoint) === JSON.stringify(before)) return;
  const after = { ...before, ...endpoint, modifyTime: notice ? tx.now : before.modifyTime } as EndpointRow;
  // the row is locked already: this registers it with the transaction
  await lockEndpoint(tx, before.endpointId);
  if (!notice) return tx.save(endpoints, after);
  const log = notice === 'failing' ? 'Failing' : 'Disable';
  tx.step(endpointAggregate, after, `webhook.endpoint.${notice}`, { log });
}
