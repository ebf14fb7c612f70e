import { events } from '@recur/contracts';
import { CONFIG, clockFollower, Outbound, type ServiceDefinition } from '@recur/platform';
import { callersAggregate } from './callers/aggregate.js';
import { GatewayQuestions } from './callers/gateway-questions.js';
import { Heartbeat } from './callers/heartbeat.js';
import { SigningKeys } from './callers/signing-keys.js';
import { CallerSnapshots } from './callers/snapshots.js';
import { removals } from './client-sessions/client-sessions.js';
import { SessionExchange } from './client-sessions/exchange.js';
import { HostedPages } from './client-sessions/hosted-pages.js';
import { NewSession } from './client-sessions/new-session.js';
import { addressRules, type Config, config } from './config.js';
import { copies } from './copies/copies.js';
import { Exports } from './exports.js';
import { CodeMailer } from './mailed-codes/code-mailer.js';
import { CodeSignIn } from './mailed-codes/code-sign-in.js';
import { codeRemovals, MailedCodes } from './mailed-codes/mailed-codes.js';
import { MemberSessions } from './member-sessions/member-sessions.js';
import { SessionActivity } from './member-sessions/session-activity.js';
import { memberAggregate, roleAggregate } from './members/aggregates.js';
import { Members } from './members/members.js';
import { OwnAccount } from './members/own-account.js';
import { Roles } from './members/roles.js';
import { SetupTokens } from './members/setup-tokens.js';
import { apiKeyAggregate, merchantAggregate } from './merchants/aggregates.js';
import { ApiKeys } from './merchants/api-keys.js';
import { merchant } from './merchants/command.js';
import { MerchantKeys } from './merchants/merchant-keys.js';
import { Merchants } from './merchants/merchants.js';
import { MerchantProfile } from './merchants/profile.js';
import { Init1763683200001 } from './migrations/0001-init.js';
import { Users1763683200002 } from './migrations/0002-users.js';
import { OperationLog1763683200003 } from './migrations/0003-operation-log.js';
import { Members1763683200004 } from './migrations/0004-members.js';
import { SignIn1763683200005 } from './migrations/0005-sign-in.js';
import { Customers1763683200006 } from './migrations/0006-customers.js';
import { LogChain1763683200007 } from './migrations/0007-log-chain.js';
import { Currencies1763683200008 } from './migrations/0008-currencies.js';
import { Relay1763683200009 } from './migrations/0009-relay.js';
import { Hardening1763683200010 } from './migrations/0010-hardening.js';
import { Work1763683200011 } from './migrations/0011-work.js';
import { CreditAccounts1763683200012 } from './migrations/0012-credit-accounts.js';
import { DeadLetters1763683200013 } from './migrations/0013-dead-letters.js';
import { SessionExchange1763683200014 } from './migrations/0014-session-exchange.js';
import { MailedCodes1763683200015 } from './migrations/0015-mailed-codes.js';
import { logConsumptions } from './operation-log/append.js';
import { log } from './operation-log/command.js';
import { OperationLog } from './operation-log/operation-log.js';
import { LogVerification } from './operation-log/verification.js';
import { Passwords } from './passwords/passwords.js';
import { providerAggregate } from './sign-in/aggregate.js';
import { AuthProviders } from './sign-in/auth-providers.js';
import { Entry } from './sign-in/entry.js';
import { IdentityTokens } from './sign-in/identity-tokens.js';
import { KeySets } from './sign-in/key-sets.js';
import { OauthAccounts } from './sign-in/oauth-accounts.js';
import { OauthSignIn } from './sign-in/oauth-sign-in.js';
import { PasswordSignIn } from './sign-in/password-sign-in.js';
import { SentIdentity } from './sign-in/sent-identity.js';
import { Totps } from './sign-in/totp.js';
import { TwoFactor } from './sign-in/two-factor.js';
import { System } from './system.js';
import { infrastructureTables, tenantTables } from './tables.js';
import { AdminNotes } from './users/admin-notes.js';
import { userAggregate } from './users/aggregate.js';
import { UserChanges } from './users/changes.js';
import { UserCount } from './users/count.js';
import { UserImports } from './users/imports.js';
import { UserLists } from './users/lists.js';
import { OwnDetails } from './users/own-details.js';
import { Users } from './users/users.js';

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
      Hardening1763683200010,
      Work1763683200011,
      CreditAccounts1763683200012,
      DeadLetters1763683200013,
      SessionExchange1763683200014,
      MailedCodes1763683200015,
    ],
    worksFrom: 9,
  },
  events,
  aggregates: {
    merchant: merchantAggregate,
    member: memberAggregate,
    provider: providerAggregate,
    role: roleAggregate,
    apikey: apiKeyAggregate,
    callers: callersAggregate,
    user: userAggregate,
  },
  copies,
  controllers: [
    System,
    MerchantProfile,
    ApiKeys,
    Members,
    OwnAccount,
    Roles,
    OauthSignIn,
    PasswordSignIn,
    CodeSignIn,
    AuthProviders,
    OauthAccounts,
    Totps,
    GatewayQuestions,
    Users,
    UserChanges,
    UserLists,
    UserCount,
    AdminNotes,
    OwnDetails,
    NewSession,
    HostedPages,
    SessionExchange,
    OperationLog,
    Exports,
    UserImports,
  ],
  providers: [
    SigningKeys,
    CallerSnapshots,
    MerchantKeys,
    Merchants,
    MemberSessions,
    SessionActivity,
    SetupTokens,
    Passwords,
    Heartbeat,
    LogVerification,
    KeySets,
    IdentityTokens,
    SentIdentity,
    TwoFactor,
    Entry,
    MailedCodes,
    CodeMailer,
    // fetches of providers' keys must end well within a command's five seconds
    {
      provide: Outbound,
      useFactory: (settings: Config) => new Outbound({ ...addressRules(settings), deadlineMs: 3_000 }),
      inject: [CONFIG],
    },
  ],
  consumptions: app => [...logConsumptions(app), clockFollower('identity')],
  workers: app => [app.get(Heartbeat)],
  work: app => [app.get(SessionActivity).work, app.get(CodeMailer).work],
  removals: [...removals, ...codeRemovals],
  commands: { merchant, log },
};
