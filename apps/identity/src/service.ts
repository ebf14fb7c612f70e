import { events } from '@recur/contracts';
import { aggregate, type ServiceDefinition } from '@recur/platform';
import { ApiKeys } from './api-keys.js';
import { Callers } from './callers.js';
import { type Config, config } from './config.js';
import { Heartbeat } from './heartbeat.js';
import { merchant } from './merchant-command.js';
import { Merchants } from './merchants.js';
import { Init1763683200001 } from './migrations/0001-init.js';
import { UsersSearch1763683200002 } from './migrations/0002-users-search.js';
import { OperationLog1763683200003 } from './migrations/0003-operation-log.js';
import { logConsumptions, OperationLog } from './operation-log.js';
import { Passwords } from './passwords.js';
import { apiKeys, callers, infrastructureTables, merchants, tenantTables, users } from './tables.js';
import { Users } from './users.js';
import { userView } from './views.js';

export const identity: ServiceDefinition<Config> = {
  name: 'identity',
  config,
  schema: {
    tables: [...tenantTables, ...infrastructureTables],
    migrations: [Init1763683200001, UsersSearch1763683200002, OperationLog1763683200003],
  },
  events,
  aggregates: {
    merchant: aggregate(merchants, 'merchantId'),
    apikey: aggregate(apiKeys, 'id'),
    callers: aggregate(callers, 'id'),
    user: aggregate(users, 'id', userView),
  },
  handlers: [Users, OperationLog],
  providers: [Callers, ApiKeys, Merchants, Passwords, Heartbeat],
  consumptions: logConsumptions,
  workers: app => [app.get(Heartbeat)],
  questions: app => ({ callers: () => app.get(Callers).snapshot() }),
  commands: { merchant },
};
