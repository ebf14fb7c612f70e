import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { MemberAccess } from '@recur/contracts';

/** A member with sessions that hold, and the digest of its grant that tokens name. */
export interface SignedInMember extends MemberAccess {
  perm: string;
}

/**
 * The members who are signed in, by their sessions: no more of them are kept than hold. A member is replaced as a whole
 * when anything of it changes, so that what was verified before can be told.
 */
export class SignedIn {
  private members = new Map<number, SignedInMember>();
  private sessions = new Map<string, SignedInMember>();

  /** How many sessions are known. */
  get size(): number {
    return this.sessions.size;
  }

  /** The member whose session this is, if it holds; `nowMs` is the time of this machine. */
  find(sid: string, nowMs: number): SignedInMember | undefined {
    const member = this.sessions.get(sid);
    const session = member?.sessions.find(one => one.sid === sid);
    return session !== undefined && session.expireTime * 1000 > nowMs ? member : undefined;
  }

  /** What is known of a member from now on. */
  set(access: MemberAccess): void {
    const known = this.members.get(access.id);
    for (const { sid } of known?.sessions ?? []) this.sessions.delete(sid);
    this.members.delete(access.id);
    if (access.sessions.length > 0) this.add(memberOf(access, known));
  }

  /** All that is known from now on: who is not among these is signed in no more. */
  replace(all: readonly MemberAccess[]): void {
    const before = this.members;
    this.members = new Map();
    this.sessions = new Map();
    for (const access of all) this.add(memberOf(access, before.get(access.id)));
  }

  private add(member: SignedInMember): void {
    this.members.set(member.id, member);
    for (const { sid } of member.sessions) this.sessions.set(sid, member);
  }
}

/** The same object where nothing has changed. */
function memberOf(access: MemberAccess, known: SignedInMember | undefined): SignedInMember {
  const perm = createHash('sha256').update(access.grant).digest('base64url');
  const member = { ...access, perm };
  return known !== undefined && isDeepStrictEqual(known, member) ? known : member;
}
