import { events as registry } from '@recur/contracts';
import { aggregate, CLOCK, type Clock, CONFIG, type ServiceDefinition } from '@recur/platform';

import { CatchUp } from './catch-up.js';
import { addressRules, type Config, config } from './config.js';
import { Deliveries, RANDOM } from './deliveries.js';
import { Doorbell } from './doorbell.js';
import { Endpoints, endpointView } from './endpoints.js';
import { intake } from './intake.js';
import { Logs } from './logs.js';
import { Init1763683200001 } from './migrations/0001-init.js';
import { Attempts1763683200002 } from './migrations/0002-attempts.js';
import { Ordering1763683200003 } from './migrations/0003-ordering.js';
import { Outbound } from './outbound.js';
import { attempts, catchUps, deliveries, due, endpoints, events } from './tables.js';

export const notification: ServiceDefinition<Config> = {
  name: 'notification',
  config,
  schema: {
    tables: [endpoints, events, deliveries, attempts, due, catchUps],
    migrations: [Init1763683200001, Attempts1763683200002, Ordering1763683200003],
  },
  events: registry,
  aggregates: { endpoint: aggregate(endpoints, 'endpointId', endpointView) },
  handlers: [Endpoints, Logs],
  providers: [
    CatchUp,
    Deliveries,
    Doorbell,
    { provide: RANDOM, useValue: Math.random },
    {
      provide: Outbound,
      useFactory: (settings: Config) => new Outbound(addressRules(settings)),
      inject: [CONFIG],
    },
  ],
  consumptions: app => {
    const doorbell = app.get(Doorbell);
    return intake(app.get<Clock>(CLOCK), (merchantId, endpointId) => doorbell.ring(merchantId, endpointId));
  },
  workers: app => [app.get(Doorbell)],
};
