import * as contract from '@recur/contracts';
import { type AggregateOf, aggregate } from '@recur/platform';
import type { Gateway } from './domain/gateway.js';
import { gateways } from './tables.js';
import { gatewayView } from './views.js';

type Event = 'gateway.created' | 'gateway.updated';

/** A gateway. Its events leave the bank account out: other services must not see it. */
export const gatewayAggregate: AggregateOf<Event, Gateway, Gateway, contract.Gateway> = aggregate({
  name: 'gateway',
  title: 'Gateway',
  events: contract.events,
  table: gateways,
  key: 'gatewayId',
  target: ({ gatewayId, gatewayName }) => `${gatewayId}-${gatewayName}`,
  view: gateway => gatewayView(gateway),
});
