import { createHash, randomBytes } from 'node:crypto';
import { expect } from '@jest/globals';
import { type AutomationAnswer, type AutomationRequest, automationOauthUrl, listEndpoints } from '@recur/contracts';
import { Hooks } from '../../src/automation/hooks.js';
import type { Stand } from '../stand.js';

export const returnUrl = 'https://platform.example/back?flow=7';
export const verifier = randomBytes(32).toString('base64url');
export const code_challenge = createHash('sha256').update(verifier).digest('base64url');
export type Fields = Record<string, string>;

export interface Tokens {
  access_token: string;
  refresh_token: string;
  client_id: string;
}
/** What is answered in place of tokens. */
export const refused = (error: string) => ({ kind: 'oauth', body: { error } });
/** What is answered to a token that does not hold. */
export const gone = { kind: 'rejected', slug: 'credential_invalid' };

/** An automation platform at a stand, which asks as the gateway does. */
export function platformAt({ t, merchant }: Stand) {
  /** Asks as the gateway does. */
  const ask = (request: object): Promise<AutomationAnswer> =>
    t.app.get(Hooks).answer(request as AutomationRequest, t.callerOf({ merchantId: 0 }));
  const step = (step: string, fields: Fields) => ask({ step, fields });
  const hook = (step: string, token: string, input: object = {}) => ask({ step, token, input });

  /** The parameters of an authorize URL, as a platform sends them on with its challenge. */
  async function requested(of = merchant): Promise<Fields> {
    const { oauthUrl } = await t.done(automationOauthUrl, { returnUrl }, of);
    const { origin, pathname, searchParams } = new URL(oauthUrl);
    expect(origin + pathname).toBe('http://localhost:3000/oauth/authorize');
    return { ...Object.fromEntries(searchParams), code_challenge, code_challenge_method: 'S256' };
  }
  const redirected = (answer: AutomationAnswer) => {
    if (answer.kind !== 'redirect') throw new Error(JSON.stringify(answer));
    return Object.fromEntries(new URL(answer.location).searchParams);
  };
  async function allowedOne(): Promise<Fields> {
    const fields = await requested();
    const { code = '' } = redirected(await step('decide', { ...fields, allowed: 'true' }));
    return {
      grant_type: 'authorization_code',
      code,
      client_id: fields.client_id ?? '',
      redirect_uri: returnUrl,
      code_verifier: verifier,
    };
  }
  async function connectedOne(): Promise<Tokens> {
    const fields = await allowedOne();
    const answer = await step('token', fields);
    if (answer.kind !== 'oauth' || answer.status !== 200) throw new Error(JSON.stringify(answer));
    return { ...(answer.body as unknown as Tokens), client_id: fields.client_id ?? '' };
  }
  const connections = async () => (await t.done(listEndpoints, {}, merchant)).automationConnections;
  const logged = async () =>
    (await t.emitted())
      .filter(({ type }) => type === 'operation.logged')
      .map(({ data }) => (data as { content: string }).content);
  return { step, hook, requested, redirected, allowedOne, connectedOne, connections, logged };
}
