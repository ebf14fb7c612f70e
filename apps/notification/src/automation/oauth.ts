import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import OAuth2Server from '@node-oauth/oauth2-server';
import type { AutomationAnswer } from '@recur/contracts';
import { type Caller, Db, type Tx } from '@recur/platform';
import { digest, fits } from './digest.js';
import { allowed, type Connection, lifetimes, stands, withTokens } from './domain/connection.js';
import { endConnection } from './end-connection.js';
import { lockConnection } from './rows.js';
import { connections } from './tables.js';

type Fields = Readonly<Record<string, string>>;

const { Request, Response, OAuthError } = OAuth2Server;
const grants = ['authorization_code', 'refresh_token'];
/** Why the page says no: the link is no longer valid, or its return address is not the one it was created for. */
const refusal = (reason: 'stale' | 'elsewhere'): AutomationAnswer => ({ kind: 'refusal', reason });
/** Expiry for the library, which has its own clock: ours has checked already. */
const never = new Date(8.64e15);
const under = (name: string) => `${name}.${randomBytes(32).toString('base64url')}`;
/** The code that a refresh token begins with: it identifies every refresh token issued for that code. */
const codeIn = (refreshToken: string) => refreshToken.split('.', 2).join('.');

/**
 * OAuth 2.0 authorization server for automation platforms: authorization code with PKCE (S256) for public clients, and
 * single-use refresh tokens. Each connection is a client of its own, with one merchant and one redirect URI. The library
 * implements the protocol; authorization and storage are decided here.
 */
@Injectable()
export class OAuth {
  constructor(private readonly db: Db) {}

  /** The page for a user who opened the authorize URL. */
  async authorize(fields: Fields, asked: Caller): Promise<AutomationAnswer> {
    const caller = await this.callerOf(fields.client_id, asked);
    if (!caller) return refusal('stale');
    return this.db.read(caller, async reader => {
      const connection = await reader.find(connections, { connectionId: caller.actor.id });
      return refused(connection, fields, reader.now) ?? consentTo(caller.merchantId, fields);
    });
  }

  /** The user's decision on that page. */
  async decide(fields: Fields, asked: Caller): Promise<AutomationAnswer> {
    const caller = await this.callerOf(fields.client_id, asked);
    if (!caller) return refusal('stale');
    return this.db.write<AutomationAnswer>(caller, async tx => {
      const connection = await lockConnection(tx, caller.actor.id);
      const answer = refused(connection, fields, tx.now);
      if (!connection || answer) return answer ?? refusal('stale');
      if (fields.allowed !== 'true') {
        await endConnection(tx, connection);
        return { kind: 'redirect', location: withError(fields, 'access_denied', 'The merchant denied the request') };
      }
      const response = new Response();
      // there is only one scope, whatever was requested
      const request = new Request({ method: 'POST', headers: {}, query: {}, body: { ...fields, scope: 'hooks' } });
      await new OAuth2Server({ model: modelOf(tx, connection, next => tx.save(connections, next)) }).authorize(
        request,
        response,
        {
          authenticateHandler: { handle: () => ({ merchantId: tx.merchantId }) },
          authorizationCodeLifetime: lifetimes.code,
        },
      );
      tx.log(`AutomationConnection(${connection.connectionId})`, 'Allow');
      // the library does not escape non-ASCII characters, which a header cannot carry
      return { kind: 'redirect', location: new URL(String(response.headers?.location)).href };
    });
  }

  /** Exchanges a code or a refresh token for tokens. */
  async token(fields: Fields, asked: Caller): Promise<AutomationAnswer> {
    const caller = await this.callerOf(fields.client_id, asked);
    if (!caller) return failed(401, 'invalid_client', 'Unknown client');
    if (!fields.grant_type) return failed(400, 'invalid_request', 'grant_type is missing');
    // for other grants the library would require a client secret, which public clients do not have
    if (!grants.includes(fields.grant_type))
      return failed(400, 'unsupported_grant_type', `Supported grant types: ${grants.join(', ')}`);
    return this.db.write<AutomationAnswer>(caller, async tx => {
      const connection = await lockConnection(tx, caller.actor.id);
      if (!connection) return failed(401, 'invalid_client', 'Unknown client');
      const misused = reuse(connection, fields);
      const spent = { code: false };
      const response = new Response();
      try {
        if (misused) throw new OAuth2Server.InvalidGrantError('Invalid grant: it was used already');
        const model = modelOf(tx, connection, next => tx.save(connections, next), spent);
        await new OAuth2Server({ model }).token(formOf(fields), response, {
          accessTokenLifetime: lifetimes.accessToken,
          requireClientAuthentication: { authorization_code: false, refresh_token: false },
        });
      } catch (error) {
        if (!(error instanceof OAuthError) || error.code >= 500) throw error;
        // a code allows one attempt, and a credential that is used twice may be stolen
        if (misused || spent.code) await endConnection(tx, connection);
        return failed(error.code, error.name, error.message);
      }
      tx.log(`AutomationConnection(${connection.connectionId})`, connection.state === 'allowed' ? 'Connect' : 'Renew');
      return { kind: 'oauth', status: 200, body: { ...response.body, expires_in: lifetimes.accessToken } };
    });
  }

  /** Ends the connection that the token belongs to; the answer is the same for unknown tokens (RFC 7009). */
  async revoke(fields: Fields, asked: Caller): Promise<AutomationAnswer> {
    const caller = await this.callerOf(fields.token?.split('.')[0], asked);
    if (caller) {
      await this.db.write(caller, async tx => {
        const connection = await lockConnection(tx, caller.actor.id);
        const { accessHash, refreshHash } = connection ?? {};
        const known = [accessHash, refreshHash].some(kept => kept && fits(fields.token ?? '', kept));
        if (connection && known) await endConnection(tx, connection);
        return {};
      });
    }
    return { kind: 'oauth', status: 200, body: {} };
  }

  /** The caller that acts for a connection; undefined for an unknown client_id. */
  async callerOf(connectionId = '', asked: Caller): Promise<Caller | undefined> {
    // unauthenticated input, which may not be valid text for the database
    if (!/^au_\w+$/.test(connectionId)) return undefined;
    const text = 'select merchant_id from connection_lookups where connection_id = $1';
    const [row] = await this.db.infra(text, [connectionId]);
    if (!row) return undefined;
    const actor = { kind: 'key', id: connectionId, display: `automation ...${connectionId.slice(-6)}` } as const;
    return { ...asked, merchantId: Number(row.merchant_id), actor };
  }
}

/** The refusal of an authorize URL or of the decision on its page; undefined when it is valid. */
function refused(connection: Connection | undefined, fields: Fields, now: number): AutomationAnswer | undefined {
  if (
    connection?.state !== 'requested' ||
    !stands(connection, now) ||
    !fits(fields.state ?? '', connection.stateHash)
  ) {
    return refusal('stale');
  }
  if (fields.redirect_uri !== connection.returnUrl) return refusal('elsewhere');
  const redirected = (error: string, why: string): AutomationAnswer => ({
    kind: 'redirect',
    location: withError(fields, error, why),
  });
  if (fields.response_type !== 'code') return redirected('unsupported_response_type', 'response_type must be code');
  const challenged = /^[\w-]{43}$/.test(fields.code_challenge ?? '') && fields.code_challenge_method === 'S256';
  return challenged ? undefined : redirected('invalid_request', 'code_challenge with S256 is required');
}

const asked = [
  'client_id',
  'redirect_uri',
  'response_type',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
];

const consentTo = (merchantId: number, fields: Fields): AutomationAnswer => ({
  kind: 'consent',
  merchantId,
  returnUrl: fields.redirect_uri ?? '',
  fields: Object.fromEntries(Object.entries(fields).filter(([name]) => asked.includes(name))),
});

function withError({ redirect_uri = '', state = '' }: Fields, error: string, why: string): string {
  const url = new URL(redirect_uri);
  for (const [name, value] of Object.entries({ error, error_description: why, state }))
    url.searchParams.set(name, value);
  return url.href;
}

const failed = (status: number, error: string, why: string): AutomationAnswer => ({
  kind: 'oauth',
  status,
  body: { error, error_description: why },
});

/** True for a code or a refresh token that was used already. */
function reuse(connection: Connection, { code = '', refresh_token = '' }: Fields): boolean {
  const { state, codeHash, refreshHash, formerRefreshHash } = connection;
  if (state !== 'connected') return false;
  const renewed = fits(codeIn(refresh_token), codeHash) && !fits(refresh_token, refreshHash);
  // a refresh token issued by an earlier version does not contain the code
  return fits(code, codeHash) || renewed || fits(refresh_token, formerRefreshHash);
}

const formOf = (fields: Fields) =>
  new Request({
    method: 'POST',
    query: {},
    body: { ...fields },
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '1' },
  });

/** The library's storage, in one connection's row; `spent.code` is set when a code was used. */
function modelOf(tx: Tx, connection: Connection, save: (next: Connection) => void, spent = { code: false }) {
  const { connectionId, returnUrl } = connection;
  const client = { id: connectionId, grants, redirectUris: [returnUrl] };
  const user = { merchantId: tx.merchantId };
  let code = '';
  return {
    getClient: async () => client,
    generateAuthorizationCode: async () => under(connectionId),
    generateAccessToken: async () => under(connectionId),
    generateRefreshToken: async () => under(code),
    validateScope: async () => ['hooks'],
    saveAuthorizationCode: async (made: OAuth2Server.AuthorizationCode) => {
      save(allowed(connection, digest(made.authorizationCode), made.codeChallenge ?? '', tx.now));
      return { ...made, client, user };
    },
    getAuthorizationCode: async (authorizationCode: string) => {
      code = authorizationCode;
      const { state, codeHash, codeChallenge } = connection;
      const holds = state === 'allowed' && stands(connection, tx.now) && fits(authorizationCode, codeHash);
      const known = { authorizationCode, expiresAt: never, redirectUri: returnUrl, scope: ['hooks'], client, user };
      return holds && { ...known, codeChallenge, codeChallengeMethod: 'S256' };
    },
    revokeAuthorizationCode: async () => {
      spent.code = true;
      return true;
    },
    getRefreshToken: async (refreshToken: string) => {
      code = codeIn(refreshToken);
      const holds = connection.state === 'connected' && fits(refreshToken, connection.refreshHash);
      return holds && { refreshToken, scope: ['hooks'], client, user };
    },
    revokeToken: async () => true,
    saveToken: async (made: OAuth2Server.Token) => {
      const hashes = { accessHash: digest(made.accessToken), refreshHash: digest(made.refreshToken ?? '') };
      save(withTokens(connection, hashes, tx.now));
      return { ...made, client, user };
    },
    // used by other grants only
    getAccessToken: async () => undefined,
    verifyScope: async () => true,
  };
}
