import { events } from '@recur/contracts';
import { aggregate, type ServiceDefinition } from '@recur/platform';
import { AdminNotes } from './admin-notes.js';
import { ApiKeys } from './api-keys.js';
import { Callers } from './callers.js';
import { removals } from './client-sessions.js';
import { type Config, config } from './config.js';
import { copies } from './copies.js';
import { emailKey } from './domain/email.js';
import { Heartbeat } from './heartbeat.js';
import { HostedPages } from './hosted-pages.js';
import { log } from './log-command.js';
import { LogVerification } from './log-verify.js';
import { merchant } from './merchant-command.js';
import { Merchants } from './merchants.js';
import { Init1763683200001 } from './migrations/0001-init.js';
import { Users1763683200002 } from './migrations/0002-users.js';
import { OperationLog1763683200003 } from './migrations/0003-operation-log.js';
import { Customers1763683200006 } from './migrations/0006-customers.js';
import { LogChain1763683200007 } from './migrations/0007-log-chain.js';
import { logConsumptions, OperationLog } from './operation-log.js';
import { Passwords } from './passwords.js';
import { Sessions } from './sessions.js';
import { apiKeys, callers, infrastructureTables, merchants, tenantTables, users } from './tables.js';
import { UserChanges } from './user-changes.js';
import { UserCount } from './user-count.js';
import { UserLists } from './user-lists.js';
import { Users } from './users.js';
import { userView } from './views.js';

export const identity: ServiceDefinition<Config> = {
  name: 'identity',
  config,
  schema: {
    tables: [...tenantTables, ...infrastructureTables],
    migrations: [
      Init1763683200001,
      Users1763683200002,
      OperationLog1763683200003,
      Customers1763683200006,
      LogChain1763683200007,
    ],
  },
  events,
  aggregates: {
    merchant: aggregate(merchants, 'merchantId'),
    apikey: aggregate(apiKeys, 'id'),
    callers: aggregate(callers, 'id'),
    user: aggregate(users, 'id', userView, {
      email: email => ({ emailKey: emailKey(email) }),
      externalUserId: externalUserId => ({ externalUserId }),
    }),
  },
  copies,
  handlers: [Users, UserChanges, UserLists, UserCount, AdminNotes, Sessions, HostedPages, OperationLog],
  providers: [Callers, ApiKeys, Merchants, Passwords, Heartbeat, LogVerification],
  consumptions: logConsumptions,
  workers: app => [app.get(Heartbeat)],
  removals,
  questions: app => ({ callers: () => app.get(Callers).snapshot() }),
  commands: { merchant, log },
};
