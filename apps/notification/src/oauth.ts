import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import OAuth2Server from '@node-oauth/oauth2-server';
import type { AutomationAnswer } from '@recur/contracts';
import { type Caller, Db, type Tx } from '@recur/platform';
import { digest, endConnection, fits, lockConnection } from './connections.js';
import { allowed, type Connection, lifetimes, stands, withTokens } from './domain/connection.js';
import { Endpoints } from './endpoints.js';
import { connections } from './tables.js';

type Fields = Readonly<Record<string, string>>;

const { Request, Response, OAuthError } = OAuth2Server;
const grants = ['authorization_code', 'refresh_token'];
const stale = 'This link does not hold any more. Ask for a new one where you found it.';
const elsewhere = 'The address to return to is not the one that this link was made for.';
/** The library looks at its own clock; ours has decided before. */
const never = new Date(8.64e15);
const under = (name: string) => `${name}.${randomBytes(32).toString('base64url')}`;
/** The code that a refresh token begins with: so each that was ever given for it is recognised. */
const codeIn = (refreshToken: string) => refreshToken.split('.', 2).join('.');

/**
 * An OAuth 2.0 authorization server for automation platforms: authorization code with PKCE (S256) for public clients,
 * and refresh tokens that are used once. Each connection is a client of its own, of one merchant and with one address
 * to return to. The protocol is the library's; who may do what, and what is kept, is decided here.
 */
@Injectable()
export class OAuth {
  constructor(
    private readonly db: Db,
    private readonly endpoints: Endpoints,
  ) {}

  /** What to ask of who opened the authorize URL. */
  async authorize(fields: Fields, asked: Caller): Promise<AutomationAnswer> {
    const caller = await this.callerOf(fields.client_id, asked);
    if (!caller) return { kind: 'refusal', message: stale };
    return this.db.read(caller, async reader => {
      const connection = await reader.find(connections, { connectionId: caller.actor.id });
      return refused(connection, fields, reader.now) ?? consentTo(caller.merchantId, fields);
    });
  }

  /** What they said. */
  async decide(fields: Fields, asked: Caller): Promise<AutomationAnswer> {
    const caller = await this.callerOf(fields.client_id, asked);
    if (!caller) return { kind: 'refusal', message: stale };
    return this.db.write<AutomationAnswer>(caller, async tx => {
      const connection = await lockConnection(tx, caller.actor.id);
      const answer = refused(connection, fields, tx.now);
      if (!connection || answer) return answer ?? { kind: 'refusal', message: stale };
      if (fields.allowed !== 'true') {
        await endConnection(tx, connection, this.endpoints);
        return { kind: 'redirect', location: withError(fields, 'access_denied', 'The merchant said no') };
      }
      const response = new Response();
      // there is one scope, which the tokens name, whatever was asked for
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
      // the library leaves letters beyond ASCII as they are, which no header takes
      return { kind: 'redirect', location: new URL(String(response.headers?.location)).href };
    });
  }

  /** Tokens for a code, or for a refresh token. */
  async token(fields: Fields, asked: Caller): Promise<AutomationAnswer> {
    const caller = await this.callerOf(fields.client_id, asked);
    if (!caller) return failed(401, 'invalid_client', 'No such client');
    if (!fields.grant_type) return failed(400, 'invalid_request', 'grant_type is missing');
    // the library would ask those who want another grant for a secret, which no client has here
    if (!grants.includes(fields.grant_type))
      return failed(400, 'unsupported_grant_type', `It takes ${grants.join(', ')}`);
    return this.db.write<AutomationAnswer>(caller, async tx => {
      const connection = await lockConnection(tx, caller.actor.id);
      if (!connection) return failed(401, 'invalid_client', 'No such client');
      const misused = reuse(connection, fields);
      const spent = { code: false };
      const response = new Response();
      try {
        if (misused) throw new OAuth2Server.InvalidGrantError('Invalid grant: it was used before');
        const model = modelOf(tx, connection, next => tx.save(connections, next), spent);
        await new OAuth2Server({ model }).token(formOf(fields), response, {
          accessTokenLifetime: lifetimes.accessToken,
          requireClientAuthentication: { authorization_code: false, refresh_token: false },
        });
      } catch (error) {
        if (!(error instanceof OAuthError) || error.code >= 500) throw error;
        // a code may be tried once, and what was used twice may be in wrong hands
        if (misused || spent.code) await endConnection(tx, connection, this.endpoints);
        return failed(error.code, error.name, error.message);
      }
      tx.log(`AutomationConnection(${connection.connectionId})`, connection.state === 'allowed' ? 'Connect' : 'Renew');
      return { kind: 'oauth', status: 200, body: { ...response.body, expires_in: lifetimes.accessToken } };
    });
  }

  /** Ends a connection whose token this is; of any other token nothing is told (RFC 7009). */
  async revoke(fields: Fields, asked: Caller): Promise<AutomationAnswer> {
    const caller = await this.callerOf(fields.token?.split('.')[0], asked);
    if (caller) {
      await this.db.write(caller, async tx => {
        const connection = await lockConnection(tx, caller.actor.id);
        const { accessHash, refreshHash } = connection ?? {};
        const known = [accessHash, refreshHash].some(kept => kept && fits(fields.token ?? '', kept));
        if (connection && known) await endConnection(tx, connection, this.endpoints);
        return {};
      });
    }
    return { kind: 'oauth', status: 200, body: {} };
  }

  /** The caller that acts for a connection; undefined where nobody has that client_id. */
  async callerOf(connectionId = '', asked: Caller): Promise<Caller | undefined> {
    // anybody may ask, also by what is no text for the database
    if (!/^au_\w+$/.test(connectionId)) return undefined;
    const text = 'select merchant_id from connection_lookups where connection_id = $1';
    const [row] = await this.db.infra(text, [connectionId]);
    if (!row) return undefined;
    const actor = { kind: 'key', id: connectionId, display: `automation ...${connectionId.slice(-6)}` } as const;
    return { ...asked, merchantId: Number(row.merchant_id), actor };
  }
}

/** Why the authorize URL, or the answer to its page, is not taken; undefined where it is. */
function refused(connection: Connection | undefined, fields: Fields, now: number): AutomationAnswer | undefined {
  if (
    connection?.state !== 'requested' ||
    !stands(connection, now) ||
    !fits(fields.state ?? '', connection.stateHash)
  ) {
    return { kind: 'refusal', message: stale };
  }
  if (fields.redirect_uri !== connection.returnUrl) return { kind: 'refusal', message: elsewhere };
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

/** A code or a refresh token that was used up before. */
function reuse(connection: Connection, { code = '', refresh_token = '' }: Fields): boolean {
  const { state, codeHash, refreshHash, formerRefreshHash } = connection;
  if (state !== 'connected') return false;
  const renewed = fits(codeIn(refresh_token), codeHash) && !fits(refresh_token, refreshHash);
  // one that the version before gave has no code in it
  return fits(code, codeHash) || renewed || fits(refresh_token, formerRefreshHash);
}

const formOf = (fields: Fields) =>
  new Request({
    method: 'POST',
    query: {},
    body: { ...fields },
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '1' },
  });

/** What the library keeps, in one connection's row; `spent.code` tells that a code was taken. */
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
    // asked for by other grants only
    getAccessToken: async () => undefined,
    verifyScope: async () => true,
  };
}
