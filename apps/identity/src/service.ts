import { events } from '@recur/contracts';
import { aggregate, CONFIG, Outbound, type ServiceDefinition } from '@recur/platform';
import { AdminNotes } from './admin-notes.js';
import { ApiKeys } from './api-keys.js';
import { AuthProviders } from './auth-providers.js';
import { type After, Callers } from './callers.js';
import { removals } from './client-sessions.js';
import { addressRules, type Config, config } from './config.js';
import { copies } from './copies.js';
import { emailKey } from './domain/email.js';
import { Heartbeat } from './heartbeat.js';
import { HostedPages } from './hosted-pages.js';
import { IdentityTokens } from './identity-tokens.js';
import { KeySets } from './jwks.js';
import { log } from './log-command.js';
import { LogVerification } from './log-verify.js';
import { MemberAccount } from './member-account.js';
import { MemberSessions } from './member-sessions.js';
import { roles } from './member-tables.js';
import { Members } from './members.js';
import { merchant } from './merchant-command.js';
import { MerchantProfile } from './merchant-profile.js';
import { Merchants } from './merchants.js';
import { Init1763683200001 } from './migrations/0001-init.js';
import { Users1763683200002 } from './migrations/0002-users.js';
import { OperationLog1763683200003 } from './migrations/0003-operation-log.js';
import { Members1763683200004 } from './migrations/0004-members.js';
import { SignIn1763683200005 } from './migrations/0005-sign-in.js';
import { Customers1763683200006 } from './migrations/0006-customers.js';
import { LogChain1763683200007 } from './migrations/0007-log-chain.js';
import { Currencies1763683200008 } from './migrations/0008-currencies.js';
import { Relay1763683200009 } from './migrations/0009-relay.js';
import { Work1763683200010 } from './migrations/0010-work.js';
import { OauthAccounts } from './oauth-accounts.js';
import { logConsumptions, OperationLog } from './operation-log.js';
import { Passwords } from './passwords.js';
import { Roles } from './roles.js';
import { type Activity, SessionActivity } from './session-activity.js';
import { Sessions } from './sessions.js';
import { SetupTokens } from './setup-tokens.js';
import { SignIn } from './sign-in.js';
import { authProviders } from './sign-in-tables.js';
import { apiKeys, callers, infrastructureTables, members, merchants, tenantTables, users } from './tables.js';
import { Totps } from './totp.js';
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
      Members1763683200004,
      SignIn1763683200005,
      Customers1763683200006,
      LogChain1763683200007,
      Currencies1763683200008,
      Relay1763683200009,
      Work1763683200010,
    ],
    worksFrom: 9,
  },
  events,
  aggregates: {
    merchant: aggregate(merchants, 'merchantId'),
    member: aggregate(members, 'id'),
    provider: aggregate(authProviders, 'id'),
    role: aggregate(roles, 'id'),
    apikey: aggregate(apiKeys, 'id'),
    callers: aggregate(callers, 'id'),
    user: aggregate(users, 'id', userView, {
      email: email => ({ emailKey: emailKey(email) }),
      externalUserId: externalUserId => ({ externalUserId }),
    }),
  },
  copies,
  handlers: [
    ...[MerchantProfile, ApiKeys, Members, MemberAccount, Roles, SignIn, AuthProviders, OauthAccounts, Totps],
    ...[Users, UserChanges, UserLists, UserCount, AdminNotes, Sessions, HostedPages, OperationLog],
  ],
  providers: [
    ...[Callers, Merchants, MemberSessions, SessionActivity, SetupTokens, Passwords, Heartbeat, LogVerification],
    ...[KeySets, IdentityTokens],
    // whoever waits for a provider's keys has a command's five seconds in all
    {
      provide: Outbound,
      useFactory: (settings: Config) => new Outbound({ ...addressRules(settings), deadlineMs: 3_000 }),
      inject: [CONFIG],
    },
  ],
  consumptions: logConsumptions,
  workers: app => [app.get(Heartbeat), app.get(SessionActivity)],
  removals,
  questions: app => ({
    callers: (input: { after?: After }) => app.get(Callers).snapshot(input),
    activity: (input: Activity) => app.get(SessionActivity).record(input),
  }),
  commands: { merchant, log },
};
