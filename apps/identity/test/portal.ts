import { randomUUID } from 'node:crypto';
import { type Operation, oauthLogin, oauthSetup, passwordLogin, passwordSetup } from '@recur/contracts';
import { systemCaller } from '@recur/platform';
import { MovableClock, type TestCaller, testService } from '@recur/platform/testing';
import { memberAggregate } from '../src/members/aggregates.js';
import { emailLookup, newMember } from '../src/members/member-rows.js';
import { SetupTokens } from '../src/members/setup-tokens.js';
import { memberEmails, members } from '../src/members/tables.js';
import { Merchants } from '../src/merchants/merchants.js';
import { identity } from '../src/service.js';
import { type Json, Pair } from './issuers.js';

const pair = new Pair('portal');
const issuer = 'https://idp.example.com';
const audience = 'portal';

/** A person at the identity provider. */
export interface Person {
  email: string;
  sub?: string;
}

export interface Merchant {
  merchantId: number;
  memberId: number;
  email: string;
}

/** Identity with a movable clock, a provider of the deployment, and sign-in as a portal calls it. */
export async function makePortal(env: Record<string, string> = {}) {
  const clock = new MovableClock();
  const OAUTH_PROVIDER = JSON.stringify({ name: 'idp', issuer, audience, publicKey: pair.pem });
  const t = await testService(identity, { clock, env: { OAUTH_PROVIDER, ...env } });
  const caller = (merchantId: number) => systemCaller(merchantId, 'test', Number.POSITIVE_INFINITY);
  const sender = { ip: '192.0.2.1', userAgent: 'Firefox on Linux' };

  /** An identity token; undefined claims are left out. */
  const token = ({ email, sub = email }: Person, more: Json = {}) => {
    const now = clock.now();
    return pair.token({
      iss: issuer,
      aud: audience,
      sub,
      email,
      email_verified: true,
      iat: now,
      exp: now + 300,
      ...more,
    });
  };
  /** Calls as a portal: with its merchant's API key and the member's identity token, or anonymously. */
  const call = <Op extends Operation>(
    operation: Op,
    input: object,
    { identityToken, ...as }: TestCaller & { identityToken?: string } = {},
  ) =>
    t.call(operation, input, { ...as, sender: { ...sender, ...(identityToken !== undefined && { identityToken }) } });

  return {
    t,
    clock,
    pair,
    issuer,
    audience,
    token,
    call,
    caller,
    /** Creates a merchant with its owner. */
    async merchant(): Promise<Merchant> {
      const email = `owner-${randomUUID()}@example.com`;
      const { merchantId, memberId } = await t.app.get(Merchants).create({ name: 'Acme', email }, 'boot');

      return { merchantId, memberId, email };
    },
    /** Creates an invited member. */
    invited(merchantId: number, email = `member-${randomUUID()}@example.com`) {
      return t.db.write(caller(merchantId), async tx => {
        const id = await tx.nextId(members);
        const member = newMember(tx, { id, email, firstName: '', lastName: '', isOwner: false, roleIds: [] });
        tx.save(memberEmails, emailLookup(member));
        tx.step(memberAggregate, member, 'member.created');
        const { token: setupToken } = await t.app.get(SetupTokens).issue(tx, id);
        tx.log(`Member(${id})`, 'New');
        return { merchantId, memberId: id, email, setupToken };
      });
    },
    oauthLogin(
      merchantId: number,
      person: Person,
      { totpCode, ...as }: TestCaller & { totpCode?: string; identityToken?: string } = {},
    ) {
      return call(oauthLogin, { email: person.email, totpCode }, { merchantId, identityToken: token(person), ...as });
    },
    oauthSetup(
      merchantId: number,
      person: Person,
      input: { setupToken: string; newPassword?: string },
      as: TestCaller & { identityToken?: string } = {},
    ) {
      return call(oauthSetup, { email: person.email, ...input }, { merchantId, identityToken: token(person), ...as });
    },
    login(input: { email: string; password: string; totpCode?: string; merchantId?: number }, as: TestCaller = {}) {
      return call(passwordLogin, input, { merchantId: 0, ...as });
    },
    setPassword(
      input: { email: string; setupToken: string; newPassword: string; merchantId?: number },
      as: TestCaller = {},
    ) {
      return call(passwordSetup, input, { merchantId: 0, ...as });
    },
    /** The caller of a member's own requests. */
    as: ({ merchantId, memberId, email }: Merchant): TestCaller => ({
      merchantId,
      actor: { kind: 'member', id: String(memberId), display: email },
    }),
    suspend: (memberId: number) => t.rows(`update members set status = 'suspended' where id = $1`, [memberId]),
  };
}

export type Portal = Awaited<ReturnType<typeof makePortal>>;
