import { events as registry } from '@recur/contracts';
import { CLOCK, type Clock, CONFIG, Outbound, type ServiceDefinition } from '@recur/platform';
import { Hooks } from './automation/hooks.js';
import { OAuth } from './automation/oauth.js';
import { Automation } from './automation/operations.js';
import { connectionLookups, connections } from './automation/tables.js';
import { addressRules, type Config, config } from './config.js';
import { CatchUp } from './deliveries/catch-up.js';
import { retryClock } from './deliveries/clock.js';
import { fanOut, type Wake } from './deliveries/fan-out.js';
import { Logs } from './deliveries/logs.js';
import { Redelivery } from './deliveries/redelivery.js';
import { Replays } from './deliveries/replays/operations.js';
import { Replayer } from './deliveries/replays/replayer.js';
import { replays } from './deliveries/replays/tables.js';
import { Retention } from './deliveries/retention.js';
import { DeliveryWaker } from './deliveries/sending/delivery-waker.js';
import { Dispatcher, RANDOM } from './deliveries/sending/dispatcher.js';
import { attempts, catchUps, deliveries, due, events } from './deliveries/tables.js';
import { endpointAggregate } from './endpoints/aggregate.js';
import { Endpoints } from './endpoints/operations.js';
import { EndpointRegistry } from './endpoints/registry.js';
import { endpoints } from './endpoints/tables.js';
import { Init1763683200001 } from './migrations/0001-init.js';
import { Attempts1763683200002 } from './migrations/0002-attempts.js';
import { Ordering1763683200003 } from './migrations/0003-ordering.js';
import { Log1763683200004 } from './migrations/0004-log.js';
import { Automation1763683200005 } from './migrations/0005-automation.js';
import { Replays1763683200006 } from './migrations/0006-replays.js';
import { Relay1763683200007 } from './migrations/0007-relay.js';
import { Claiming1763683200008 } from './migrations/0008-claiming.js';
import { Work1763683200009 } from './migrations/0009-work.js';
import { CatchUps1763683200010 } from './migrations/0010-catch-ups.js';
import { Traces1763683200011 } from './migrations/0011-traces.js';
import { DeadLetters1763683200012 } from './migrations/0012-dead-letters.js';

/** Tables without row-level security, beside the platform's own. */
export const infrastructure = [due.table, catchUps.table, 'running_replays', connectionLookups.table];

export const notification: ServiceDefinition<Config> = {
  name: 'notification',
  config,
  schema: {
    tables: [endpoints, events, deliveries, attempts, due, catchUps, replays, connections, connectionLookups],
    migrations: [
      Init1763683200001,
      Attempts1763683200002,
      Ordering1763683200003,
      Log1763683200004,
      Automation1763683200005,
      Replays1763683200006,
      Relay1763683200007,
      Claiming1763683200008,
      Work1763683200009,
      CatchUps1763683200010,
      Traces1763683200011,
      DeadLetters1763683200012,
    ],
    worksFrom: 7,
  },
  events: registry,
  aggregates: { endpoint: endpointAggregate },
  controllers: [Endpoints, Logs, Redelivery, Replays, Automation, Hooks],
  providers: [
    CatchUp,
    Dispatcher,
    DeliveryWaker,
    Replayer,
    Retention,
    OAuth,
    EndpointRegistry,
    { provide: RANDOM, useValue: Math.random },
    {
      provide: Outbound,
      useFactory: (settings: Config) => new Outbound(addressRules(settings)),
      inject: [CONFIG],
    },
  ],
  consumptions: app => {
    const wake: Wake = (merchantId, endpointIds) => app.get(DeliveryWaker).wake(merchantId, endpointIds);
    const nowMs = () => app.get<Clock>(CLOCK).wall();
    return [...fanOut(nowMs, wake), retryClock(nowMs, wake)];
  },
  workers: app => [app.get(DeliveryWaker), app.get(Retention)],
  work: app => [app.get(CatchUp).work, app.get(Replayer).work],
};
