import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { MemberAccess } from '@recur/contracts';

/** A member with valid sessions, and the digest of its grant that its tokens name. */
export interface SignedInMember extends MemberAccess {
  perm: string;
}

/**
 * Signed-in members by session; only valid sessions are kept. A member is replaced as a whole on change, so that proofs
 * verified before can be recognised.
 */
export class SignedIn {
  private members = new Map<number, SignedInMember>();
  private sessions = new Map<string, SignedInMember>();

  /** The number of known sessions. */
  get size(): number {
    return this.sessions.size;
  }

  /** The member of a valid session; `nowMs` is this machine's time. */
  find(sid: string, nowMs: number): SignedInMember | undefined {
    const member = this.sessions.get(sid);
    const session = member?.sessions.find(one => one.sid === sid);
    return session !== undefined && session.expireTime * 1000 > nowMs ? member : undefined;
  }

  /** Replaces what is known of a member. */
  set(access: MemberAccess): void {
    const known = this.members.get(access.id);
    for (const { sid } of known?.sessions ?? []) this.sessions.delete(sid);
    this.members.delete(access.id);
    if (access.sessions.length > 0) this.add(memberOf(access, known));
  }

  /** Replaces everything: members who are not in `all` are signed out. */
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

/** The known object, if nothing has changed. */
function memberOf(access: MemberAccess, known: SignedInMember | undefined): SignedInMember {
  const perm = createHash('sha256').update(access.grant).digest('base64url');
  const member = { ...access, perm };
  return known !== undefined && isDeepStrictEqual(known, member) ? known : member;
}
