import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { type In, inviteMember, listMembers, resumeMember, suspendMember, updateMemberRole } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, contains, Db, given, Handle, type Tx } from '@recur/platform';
import { emailKey } from '../domain/email.js';
import { MemberSessions } from '../member-sessions/member-sessions.js';
import type { Roles } from './grants.js';
import { isSetUp, SetupTokens, setupSeconds } from './setup-tokens.js';
import { type Member, memberEmails, members, type Role, roles } from './tables.js';
import { memberEvent } from './views.js';

/** What the merchant does with its members. Locks are taken in this order: roles, member, sessions, callers. */
@Injectable()
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
      await lockRoles(tx, roleIds);
      // of several who invite one e-mail at once, all but the first find the member that it has made
      tx.onConflict('member_emails_pkey', 'again');
      tx.onConflict('members_email', 'again');
      const taken = await tx.find(memberEmails, { emailHash: emailHash(email) });
      const ids = sortedSet(roleIds);
      const member = taken
        ? await this.invitedBefore(tx, { email, firstName, lastName, roleIds: ids }, caller)
        : insertMember(tx, { id: await tx.nextId(members), email, firstName, lastName, isOwner: false, roleIds: ids });
      const setupToken = await this.setupTokens.issue(tx, member.id);
      tx.log(`Member(${member.id})`, 'Invite');
      return { memberId: member.id, setupToken, setupTokenExpireTime: tx.now + setupSeconds };
    });
  }

  @Handle(updateMemberRole)
  updateRole({ memberId, roleIds }: In<typeof updateMemberRole>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const roles = await lockRoles(tx, roleIds);
      const member = await tx.lock(members, { id: memberId }, 'member_not_found');
      if (member.isOwner) throw new Rejected('owner_protected');
      const next = { ...member, roleIds: sortedSet(roleIds) };
      if (next.roleIds.join() === member.roleIds.join()) return {};
      updateMember(tx, next);
      await this.sessions.regrant(tx, [next], roles);
      tx.log(`Member(${memberId})`, 'UpdateRole');
      return {};
    });
  }

  @Handle(suspendMember)
  suspend({ memberId }: In<typeof suspendMember>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const member = await tx.lock(members, { id: memberId }, 'member_not_found');
      if (member.isOwner) throw new Rejected('owner_protected');
      if (caller.actor.kind === 'member' && Number(caller.actor.id) === memberId) throw new Rejected('self_suspension');
      if (member.status === 'suspended') return {};
      updateMember(tx, { ...member, status: 'suspended' });
      await this.sessions.endAllOf(tx, memberId);
      tx.log(`Member(${memberId})`, 'Suspend');
      return {};
    });
  }

  @Handle(resumeMember)
  resume({ memberId }: In<typeof resumeMember>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const member = await tx.lock(members, { id: memberId }, 'member_not_found');
      if (member.status === 'active') return {};
      updateMember(tx, { ...member, status: 'active' });
      tx.log(`Member(${memberId})`, 'Resume');
      return {};
    });
  }

  /** The member of this merchant who has the e-mail and was never set up, with the names and roles that are given now. */
  private async invitedBefore(
    tx: Tx,
    { email, firstName, lastName, roleIds }: Invitation,
    { actor }: Caller,
  ): Promise<Member> {
    const member = await tx.lockIfAny(members, { emailKey: emailKey(email) });
    if (!member || (await isSetUp(tx, member))) throw emailTaken();
    // whoever holds the token becomes that member, and no member may make itself the owner
    if (member.isOwner && actor.kind === 'member') throw emailTaken();
    const next = {
      ...member,
      firstName: firstName || member.firstName,
      lastName: lastName || member.lastName,
      roleIds: member.isOwner ? member.roleIds : roleIds,
    };
    const changed = memberEvent(next);
    if (JSON.stringify(changed) !== JSON.stringify(memberEvent(member))) updateMember(tx, next);
    return next;
  }
}

type Invitation = Pick<Member, 'email' | 'firstName' | 'lastName' | 'roleIds'>;
type NewRow = Invitation & Pick<Member, 'id' | 'isOwner'>;

/** Where a member's e-mail is looked up, whatever merchant it belongs to. */
export const emailHash = (email: string) => hash('sha256', emailKey(email), 'base64url');

/** The refusal of an e-mail that is another member's, of whatever merchant. */
export const emailTaken = (): Rejected =>
  invalid('/email', 'A member with this e-mail exists already; it is unique in a deployment');

/** Creates a member, with its event; the command logs it, and says what a conflict of `member_emails_pkey` means. */
export function insertMember(tx: Tx, given: NewRow): Member {
  const { merchantId, now } = tx;
  const member: Member = {
    ...given,
    merchantId,
    emailKey: emailKey(given.email),
    mobile: '',
    passwordHash: null,
    status: 'active',
    totpType: 'off',
    createTime: now,
    version: 0,
  };
  tx.save(memberEmails, { emailHash: emailHash(given.email), merchantId });
  tx.save(members, member);
  tx.emit('member.created', member, memberEvent(member));
  return member;
}

/** Saves a member that is locked and was changed, with its event; the command logs it. */
export function updateMember(tx: Tx, member: Member): void {
  tx.save(members, member);
  tx.emit('member.updated', member, memberEvent(member));
}

const sortedSet = (ids: readonly number[]) => [...new Set(ids)].sort((one, other) => one - other);

/** The roles with these ids, which nobody changes or deletes until the commit. Rejects `role_not_found`. */
async function lockRoles(tx: Tx, ids: readonly number[]): Promise<Roles> {
  const locked = new Map<number, Role>();
  for (const id of sortedSet(ids)) {
    locked.set(id, await tx.lock(roles, { id, deletedTime: 0 }, 'role_not_found'));
  }
  return locked;
}
