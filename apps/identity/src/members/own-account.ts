import { Controller } from '@nestjs/common';
import { type In, logoutMember, memberProfile, resetPassword, updateMember } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle } from '@recur/platform';
import { MemberSessions } from '../member-sessions/member-sessions.js';
import { requireUncommon } from '../passwords/common-passwords.js';
import { memberLine } from '../passwords/lines.js';
import { Passwords } from '../passwords/passwords.js';
import { memberAggregate } from './aggregates.js';
import { members } from './tables.js';

/** Operations of a member on its own account; the gateway admits no other caller. */
@Controller()
export class OwnAccount {
  constructor(
    private readonly db: Db,
    private readonly sessions: MemberSessions,
    private readonly passwords: Passwords,
  ) {}

  @Handle(memberProfile)
  profile(_input: In<typeof memberProfile>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const member = await reader.get(members, { id: ownMemberId(caller) }, 'permission_denied');
      const [merchantMember] = await this.sessions.views(reader, [member], caller.session);
      return { merchantMember: merchantMember as NonNullable<typeof merchantMember> };
    });
  }

  @Handle(updateMember)
  update(edit: In<typeof updateMember>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const member = await tx.lock(memberAggregate, ownMemberId(caller), 'permission_denied');
      const { firstName = member.firstName, lastName = member.lastName, mobile = member.mobile } = edit;
      const next = { ...member, firstName, lastName, mobile };
      const isSame = firstName === member.firstName && lastName === member.lastName && mobile === member.mobile;
      if (!isSame) tx.step(memberAggregate, next, 'member.updated', { log: 'Update' });
      const [merchantMember] = await this.sessions.views(tx, [next], caller.session);
      return { merchantMember: merchantMember as NonNullable<typeof merchantMember> };
    });
  }

  @Handle(logoutMember)
  logout(_input: In<typeof logoutMember>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const { id } = await tx.lock(memberAggregate, ownMemberId(caller), 'permission_denied');
      if (await this.sessions.end(tx, id, caller.session ?? '')) tx.log(`Member(${id})`, 'Logout');
      return {};
    });
  }

  @Handle(resetPassword)
  async reset({ oldPassword, newPassword }: In<typeof resetPassword>, caller: Caller) {
    const id = ownMemberId(caller);
    requireUncommon(newPassword);
    const line = memberLine(caller.merchantId, id);
    const known = await this.db.read(caller, reader => reader.get(members, { id }, 'permission_denied'));
    const isRight = known.passwordHash !== null && (await this.passwords.verify(known.passwordHash, oldPassword, line));
    const passwordHash = isRight ? await this.passwords.hash(newPassword, line) : null;
    return this.db.write(caller, async tx => {
      // refused inside, so that a repeat under the same idempotency key is answered although its old password is wrong
      if (!isRight) throw wrongPassword();
      const member = await tx.lock(memberAggregate, id, 'permission_denied');
      // replaced by a concurrent request since it was verified
      if (member.passwordHash !== known.passwordHash) throw wrongPassword();
      const next = { ...member, passwordHash };
      tx.step(memberAggregate, next, 'member.updated', { log: 'ResetPassword' });
      const device = await this.sessions.deviceOf(tx, id, caller.session);
      // the calling session ends too: somebody else may have its token
      const { token } = await this.sessions.open(tx, next, { device, totpVerified: false, alone: true });
      return { token };
    });
  }
}

/** The id of the calling member. */
function ownMemberId({ actor }: Caller): number {
  if (actor.kind !== 'member') throw new Rejected('permission_denied');
  return Number(actor.id);
}

const wrongPassword = () => invalid('/oldPassword', 'oldPassword is not the password of this member');
