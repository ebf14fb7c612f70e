import { inviteMember, newRole, type Permission } from '@recur/contracts';
import { systemCaller, type Tx } from '@recur/platform';
import type { TestCaller, TestService } from '@recur/platform/testing';
import { decodeJwt } from 'jose';
import { MemberSessions } from '../src/member-sessions/member-sessions.js';
import { type Member, members } from '../src/members/tables.js';
import { Merchants } from '../src/merchants/merchants.js';

export interface SignedIn {
  token: string;
  sid: string;
  /** The caller of the member's requests, as the gateway sends it. */
  caller: TestCaller;
}

let made = 0;

/** Permissions as a role lists them. */
export const byGroup = (permissions: readonly Permission[]) =>
  [...new Set(permissions.map(permission => permission.split('.')[0] ?? ''))].map(group => ({
    group,
    permissions: permissions.filter(one => one.startsWith(`${group}.`)).map(one => one.slice(group.length + 1)),
  }));

/** A merchant with its owner, and helpers for its members. */
export async function newCompany(t: TestService) {
  const email = `owner-${++made}@example.com`;
  const { merchantId, memberId, apiKey } = await t.app.get(Merchants).create({ name: 'Acme', email }, 'boot');
  const key = { merchantId };

  /** Runs a transaction with a locked member, as a command would. */
  const withMember = <T extends object>(id: number, run: (tx: Tx, member: Member) => Promise<T>): Promise<T> =>
    t.db.write(systemCaller(merchantId, 'test', Number.POSITIVE_INFINITY), async tx => {
      const member = await tx.lock(members, { id }, 'member_not_found');
      const result = await run(tx, member);
      tx.log(`Member(${id})`, 'Test');
      return result;
    });

  return {
    merchantId,
    ownerId: memberId,
    apiKey,
    key,
    withMember,
    /** Creates a role with these permissions. */
    async role(...permissions: Permission[]): Promise<number> {
      const input = { role: `Role ${++made}`, permissions: byGroup(permissions) };
      const { merchantRole } = await t.done(newRole, input, key);
      return merchantRole.id;
    },
    async invite(...roleIds: number[]) {
      return t.done(inviteMember, { email: `member-${++made}@example.com`, roleIds }, key);
    },
    async signIn(id: number, device = { name: 'Firefox', ip: '192.0.2.1' }): Promise<SignedIn> {
      const { merchantMember, token } = await withMember(id, (tx, member) =>
        t.app.get(MemberSessions).open(tx, member, { device, totpVerified: false }),
      );
      const sid = String(decodeJwt(token).sid);
      const actor = { kind: 'member', id: String(id), display: merchantMember.email } as const;
      return { token, sid, caller: { merchantId, actor, session: sid } };
    },
    /** A member as published to gateways in a snapshot. */
    async published(id: number) {
      const reply = await t.bus.request('cmd.identity.platform.callers', '{}', t.callerOf());
      const { members } = JSON.parse(reply.bytes.toString()) as {
        members: { id: number; grant: string; sessions: { sid: string }[] }[];
      };
      return members.find(member => member.id === id);
    },
  };
}

export type Company = Awaited<ReturnType<typeof newCompany>>;
