import { randomBytes } from 'node:crypto';
import { Controller, Inject } from '@nestjs/common';
import { automationOauthUrl, disconnectAutomation, type In } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, CONFIG, Db, Handle } from '@recur/platform';
import type { Config } from '../config.js';
import { digest } from './digest.js';
import { type Connection, lifetimes } from './domain/connection.js';
import { endConnection } from './end-connection.js';
import { connectionLookups, connections } from './tables.js';

/** Connections of one merchant, including those that are not taken up yet. */
const maxConnections = 20;

/** Serialises the creation of one merchant's connections, so that the limit holds. */
const lockCreation = `select pg_advisory_xact_lock(hashtextextended('connections of ' || $1::bigint, 0))`;
const removeExpiredConnections = `with expired as (delete from connections
    where merchant_id = $1 and state <> 'connected' and expire_time <= $2 returning connection_id)
  delete from connection_lookups where connection_id in (select connection_id from expired)`;

/** The merchant's operations on automation connections. The platforms' requests are in oauth.ts and hooks.ts. */
@Controller()
export class Automation {
  constructor(
    private readonly db: Db,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Handle(automationOauthUrl)
  request({ returnUrl }: In<typeof automationOauthUrl>, caller: Caller) {
    if (returnUrl && !isPlain(returnUrl)) {
      throw invalid('/returnUrl', 'must have a host of letters a-z, digits, dots and hyphens, and no user name');
    }
    return this.db.write(caller, async tx => {
      await tx.run(lockCreation, [tx.merchantId]);
      await tx.run(removeExpiredConnections, [tx.merchantId, tx.now]);
      const standing = await tx.all(connections, {});
      if (standing.length >= maxConnections) throw new Rejected('too_many_connections');
      const secret = randomBytes(32).toString('base64url');
      const connection: Connection = {
        merchantId: tx.merchantId,
        connectionId: tx.newId('au_'),
        state: 'requested',
        returnUrl: returnUrl || `${this.config.BASE_URL}/oauth/code`,
        stateHash: digest(secret),
        codeHash: '',
        codeChallenge: '',
        accessHash: '',
        accessUntil: 0,
        refreshHash: '',
        formerRefreshHash: '',
        expireTime: tx.now + lifetimes.request,
        createTime: tx.now,
        modifyTime: tx.now,
      };
      const { connectionId, merchantId } = connection;
      tx.save(connections, connection);
      tx.save(connectionLookups, { connectionId, merchantId });
      tx.log(`AutomationConnection(${connectionId})`, 'New');
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: connectionId,
        redirect_uri: connection.returnUrl,
        scope: 'hooks',
        state: secret,
      });
      return { oauthUrl: `${this.config.BASE_URL}/oauth/authorize?${query}` };
    });
  }

  @Handle(disconnectAutomation)
  disconnect({ connectionId }: In<typeof disconnectAutomation>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const connection = await tx.lock(connections, { connectionId }, 'connection_not_found');
      await endConnection(tx, connection);
      return {};
    });
  }
}

/** True when every URL parser finds the same host in the text: the OAuth library has a parser of its own. */
function isPlain(text: string): boolean {
  const { protocol, host, hostname, username, password } = new URL(text);
  const asRead = text.toLowerCase().startsWith(`${protocol}//${host}`);
  return asRead && username + password === '' && /^(\[[\da-f:.]+\]|[\w.-]+)$/.test(hostname);
}
