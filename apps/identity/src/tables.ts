import { callers, signingKeys } from './callers/tables.js';
import { clientSessions } from './client-sessions/tables.js';
import { creditAccounts, currencyRules, gateways, plans, products, subscriptions } from './copies/tables.js';
import { mailedCodes } from './mailed-codes/tables.js';
import { liveSessions, memberSessions } from './member-sessions/tables.js';
import { memberEmails, members, roles, setupTokens } from './members/tables.js';
import { apiKeyLookups, apiKeys, merchants } from './merchants/tables.js';
import { logHeads, logTallies, operationLogs } from './operation-log/tables.js';
import { authProviders, memberTotps, oauthAccounts } from './sign-in/tables.js';
import { adminNotes, users, userTallies } from './users/tables.js';

/** Tenant tables: row-level security shows their rows to their merchant only. */
export const tenantTables = [
  merchants,
  members,
  roles,
  memberSessions,
  setupTokens,
  authProviders,
  oauthAccounts,
  memberTotps,
  apiKeys,
  users,
  userTallies,
  adminNotes,
  operationLogs,
  logHeads,
  logTallies,
  gateways,
  subscriptions,
  plans,
  products,
  creditAccounts,
  currencyRules,
];

/** Tables without row-level security, beside the platform's own. */
export const infrastructureTables = [
  signingKeys,
  callers,
  apiKeyLookups,
  memberEmails,
  liveSessions,
  clientSessions,
  mailedCodes,
];

/** Tables maintained by `searchable`, without row-level security; only `db.search` reads them. */
export const searchTables = ['users_search', 'members_search'];
