import { Controller } from '@nestjs/common';
import {
  grantOf,
  type In,
  inviteMember,
  listMembers,
  resumeMember,
  suspendMember,
  updateMemberRole,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, contains, Db, given, Handle, type Tx } from '@recur/platform';
import { emailKey } from '../domain/email.js';
import { MemberSessions } from '../member-sessions/member-sessions.js';
import { memberAggregate } from './aggregates.js';
import { grantIn, type RolesById, refuseExcess, rolesOf } from './grants.js';
import { emailLookup, emailTaken, newMember } from './member-rows.js';
import { isSetUp, SetupTokens } from './setup-tokens.js';
import { type Member, memberEmails, members, type Role, roles } from './tables.js';
import { memberEvent } from './views.js';

/** Administers a merchant's members. Lock order: roles, member, sessions, callers. */
@Controller()
export class Members {
  constructor(
    private readonly db: Db,
    private readonly sessions: MemberSessions,
    private readonly setupTokens: SetupTokens,
  ) {}

  @Handle(listMembers)
  list(
    { email, searchKey, roleIds, createTimeStart, createTimeEnd, page, count }: In<typeof listMembers>,
    caller: Caller,
  ) {
    return this.db.read(caller, async reader => {
      const { rows, total } = await reader.page({
        from: members,
        where: [
          ['email ilike ?', email ? contains(email) : undefined],
          [
            `concat_ws(E'\\n', email, concat_ws(' ', first_name, last_name)) ilike ?`,
            searchKey ? contains(searchKey) : undefined,
          ],
          ['role_ids && ?::bigint[]', given(roleIds)],
          ['create_time >= ?', given(createTimeStart)],
          ['create_time <= ?', given(createTimeEnd)],
        ],
        order: 'create_time desc, id desc',
        page,
        count,
      });
      return { merchantMembers: await this.sessions.views(reader, rows, caller.session), total };
    });
  }

  @Handle(inviteMember)
  invite({ email, firstName, lastName, roleIds }: In<typeof inviteMember>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const roles = await lockRoles(tx, roleIds);
      // the inviter is given the setup token, and could set itself up with it
      await refuseExcess(tx, caller, grantOf([...roles.values()].flatMap(({ permissions }) => permissions)));
      // concurrent invitations of one e-mail: all but the first run again and find its member
      tx.onConflict('member_emails_pkey', 'again');
      tx.onConflict('members_email', 'again');
      const held = await tx.lockIfAny(memberAggregate, { emailKey: emailKey(email) });
      const invitation = { email, firstName, lastName, roleIds: sortedSet(roleIds) };
      const member = held
        ? await this.inviteAgain(tx, held, invitation, caller)
        : this.inviteFirst(tx, newMember(tx, { ...invitation, id: await tx.nextId(members), isOwner: false }));
      const { token: setupToken, expireTime } = await this.setupTokens.issue(tx, member.id);
      tx.log(`Member(${member.id})`, 'Invite');
      return { memberId: member.id, setupToken, setupTokenExpireTime: expireTime };
    });
  }

  @Handle(updateMemberRole)
  updateRole({ memberId, roleIds }: In<typeof updateMemberRole>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const roles = await lockRoles(tx, roleIds);
      const member = await tx.lock(memberAggregate, memberId, 'member_not_found');
      if (member.isOwner) throw new Rejected('owner_protected');
      const next = { ...member, roleIds: sortedSet(roleIds) };
      if (next.roleIds.join() === member.roleIds.join()) return {};
      const before = grantIn(await rolesOf(tx, [member]), member);
      await refuseExcess(tx, caller, grantIn(roles, next), before);
      tx.step(memberAggregate, next, 'member.updated', { log: 'UpdateRole' });
      await this.sessions.regrant(tx, [next], roles);
      return {};
    });
  }

  @Handle(suspendMember)
  suspend({ memberId }: In<typeof suspendMember>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const member = await tx.lock(memberAggregate, memberId, 'member_not_found');
      if (member.isOwner) throw new Rejected('owner_protected');
      if (caller.actor.kind === 'member' && Number(caller.actor.id) === memberId) throw new Rejected('self_suspension');
      if (member.status === 'suspended') return {};
      tx.step(memberAggregate, { ...member, status: 'suspended' }, 'member.updated', { log: 'Suspend' });
      await this.sessions.endAllOf(tx, memberId);
      return {};
    });
  }

  @Handle(resumeMember)
  resume({ memberId }: In<typeof resumeMember>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const member = await tx.lock(memberAggregate, memberId, 'member_not_found');
      if (member.status === 'active') return {};
      tx.step(memberAggregate, { ...member, status: 'active' }, 'member.updated', { log: 'Resume' });
      return {};
    });
  }

  private inviteFirst(tx: Tx, member: Member): Member {
    tx.save(memberEmails, emailLookup(member));
    tx.step(memberAggregate, member, 'member.created');
    return member;
  }

  /** Updates a locked member that is not set up yet with the names and roles of a further invitation. */
  private async inviteAgain(
    tx: Tx,
    member: Member,
    { firstName, lastName, roleIds }: Invitation,
    { actor }: Caller,
  ): Promise<Member> {
    // the token signs in as that member, and no member may become the owner
    if ((member.isOwner && actor.kind === 'member') || (await isSetUp(tx, member))) throw emailTaken();
    const next = {
      ...member,
      firstName: firstName || member.firstName,
      lastName: lastName || member.lastName,
      roleIds: member.isOwner ? member.roleIds : roleIds,
    };
    const changed = memberEvent(next);
    if (JSON.stringify(changed) !== JSON.stringify(memberEvent(member))) {
      tx.step(memberAggregate, next, 'member.updated');
    }
    return next;
  }
}

type Invitation = Pick<Member, 'email' | 'firstName' | 'lastName' | 'roleIds'>;

const sortedSet = (ids: readonly number[]) => [...new Set(ids)].sort((one, other) => one - other);

/** Locks the roles with these ids. Rejects `role_not_found`. */
async function lockRoles(tx: Tx, ids: readonly number[]): Promise<RolesById> {
  const locked = new Map<number, Role>();
  for (const id of sortedSet(ids)) {
    locked.set(id, await tx.lock(roles, { id, deletedTime: 0 }, 'role_not_found'));
  }
  return locked;
}
