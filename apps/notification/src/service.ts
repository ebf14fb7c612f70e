import { AutomationRequest, events as registry } from '@recur/contracts';
import { aggregate, type Caller, CLOCK, type Clock, CONFIG, Outbound, type ServiceDefinition } from '@recur/platform';

import { Automation } from './automation.js';
import { CatchUp } from './catch-up.js';
import { addressRules, type Config, config } from './config.js';
import { Deliveries, RANDOM } from './deliveries.js';
import { Doorbell } from './doorbell.js';
import { Endpoints, endpointView } from './endpoints.js';
import { Hooks } from './hooks.js';
import { intake } from './intake.js';
import { Logs } from './logs.js';
import { Init1763683200001 } from './migrations/0001-init.js';
import { Attempts1763683200002 } from './migrations/0002-attempts.js';
import { Ordering1763683200003 } from './migrations/0003-ordering.js';
import { Log1763683200004 } from './migrations/0004-log.js';
import { Automation1763683200005 } from './migrations/0005-automation.js';
import { Replays1763683200006 } from './migrations/0006-replays.js';
import { Relay1763683200007 } from './migrations/0007-relay.js';
import { Work1763683200008 } from './migrations/0008-work.js';
import { OAuth } from './oauth.js';
import { Redelivery } from './redelivery.js';
import { Replayer } from './replayer.js';
import { Replays } from './replays.js';
import { Retention } from './retention.js';
import {
  attempts,
  catchUps,
  connectionLookups,
  connections,
  deliveries,
  due,
  endpoints,
  events,
  replays,
  runningReplays,
} from './tables.js';

export const notification: ServiceDefinition<Config> = {
  name: 'notification',
  config,
  schema: {
    tables: [
      endpoints,
      events,
      deliveries,
      attempts,
      due,
      catchUps,
      replays,
      runningReplays,
      connections,
      connectionLookups,
    ],
    migrations: [
      Init1763683200001,
      Attempts1763683200002,
      Ordering1763683200003,
      Log1763683200004,
      Automation1763683200005,
      Replays1763683200006,
      Relay1763683200007,
      Work1763683200008,
    ],
    worksFrom: 7,
  },
  events: registry,
  aggregates: { endpoint: aggregate(endpoints, 'endpointId', endpointView) },
  handlers: [Endpoints, Logs, Redelivery, Replays, Automation],
  providers: [
    CatchUp,
    Deliveries,
    Doorbell,
    Replayer,
    Retention,
    OAuth,
    Hooks,
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
  workers: app => [app.get(Doorbell), app.get(Replayer), app.get(Retention)],
  questions: app => ({
    automation: (request: unknown, caller: Caller) => app.get(Hooks).answer(AutomationRequest.parse(request), caller),
  }),
};
