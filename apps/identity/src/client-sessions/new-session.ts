import { Controller, Inject } from '@nestjs/common';
import { type In, newSession, type Out } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, CLOCK, type Clock, CONFIG, Db, Handle, type Tx } from '@recur/platform';
import { SigningKeys } from '../callers/signing-keys.js';
import { signToken } from '../callers/tokens.js';
import type { Config } from '../config.js';
import { emailKey } from '../domain/email.js';
import { usersLine } from '../passwords/lines.js';
import { Passwords } from '../passwords/passwords.js';
import { userAggregate } from '../users/aggregate.js';
import { type Edit, edited, filled } from '../users/edits.js';
import { type User, users } from '../users/tables.js';
import { holders, newRow, refuseTaken } from '../users/users.js';
import { openSession } from './client-sessions.js';

const clientTokenSeconds = 600;

type GivenUser = Pick<
  In<typeof newSession>,
  'email' | 'externalUserId' | 'firstName' | 'lastName' | 'phone' | 'address'
>;
/** The fields of a user that the answer shows. */
type Known = Pick<User, 'id' | 'email' | 'externalUserId'>;
type Urls = Required<Pick<In<typeof newSession>, 'returnUrl' | 'cancelUrl'>>;

/** Opens client sessions: finds or creates the user, then answers the session, a token and the URL of the pages. */
@Controller()
export class NewSession {
  constructor(
    private readonly db: Db,
    private readonly signingKeys: SigningKeys,
    private readonly passwords: Passwords,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Handle(newSession)
  async open({ password, returnUrl = '', cancelUrl = '', ...given }: In<typeof newSession>, caller: Caller) {
    // before the transaction: a hash waits for its turn, and must not hold a connection meanwhile
    const hashed = password && !(await this.isKnown(given, caller)) ? await this.hash(password, caller) : null;
    return this.db.write(caller, async tx => {
      const { email, externalUserId = '', firstName = '', lastName = '', phone = '', address = '' } = given;
      const held = await holders(tx, { email, externalUserId });
      const found = held.byExternalId ?? held.byEmail;
      // a concurrent request that loses the race for an e-mail or external id runs again and finds the user
      tx.onConflict('users_email', 'again');
      tx.onConflict('users_external', 'again');
      let user: Known;
      if (found) {
        refuseInactive(found);
        refuseTaken(held, found.id);
        user = await overwrite(tx, found, given);
      } else {
        // a user who was known a moment ago has given the e-mail away
        const passwordHash = hashed ?? (password ? await this.hash(password, caller) : null);
        const texts = { email, externalUserId, firstName, lastName, phone, address, language: '' };
        const made = newRow(tx, { ...texts, id: await tx.nextId(users), passwordHash });
        user = tx.step(userAggregate, made, 'user.created').view;
      }
      tx.log(`User(${user.id})`, found ? 'NewSession' : 'New', { userId: user.id });
      return this.opened(tx, user, { returnUrl, cancelUrl });
    });
  }

  private isKnown({ email, externalUserId = '' }: GivenUser, caller: Caller): Promise<boolean> {
    return this.db.read(caller, async reader => {
      const { byEmail, byExternalId } = await holders(reader, { email, externalUserId });
      return byEmail !== undefined || byExternalId !== undefined;
    });
  }

  private hash = (password: string, { merchantId }: Caller): Promise<string> =>
    this.passwords.hash(password, usersLine(merchantId));

  private async opened(tx: Tx, user: Known, urls: Urls): Promise<Out<typeof newSession>> {
    const purpose = { userId: user.id, ...urls };
    const { clientSession, sessionHash } = openSession(tx, Math.floor(this.clock.wall() / 1000), purpose);
    return {
      clientSession,
      clientToken: await this.token(tx, user.id, sessionHash),
      email: user.email,
      externalUserId: user.externalUserId,
      url: `${this.config.PORTAL_BASE}/session/${clientSession}`,
      userId: String(user.id),
    };
  }

  /** A short-lived token of the user, verifiable without a request to identity. */
  private async token(tx: Tx, userId: number, sessionHash: string): Promise<string> {
    const { merchantId: merchant } = tx;
    const iat = Math.floor(this.clock.wall() / 1000);
    const claims = { sub: String(userId), merchant, sid: sessionHash, iat, exp: iat + clientTokenSeconds };
    return signToken(await this.signingKeys.signer(tx), this.config, 'client+jwt', claims);
  }
}

export function refuseInactive({ id, status }: User): void {
  if (status === 'active') return;
  throw new Rejected('user_inactive', `User ${id} is ${status}: cannot open a session for it`);
}

/** Overwrites the user with the non-blank fields given; locks and saves it only if something differs. */
async function overwrite(tx: Tx, found: User, given: GivenUser): Promise<Known> {
  if (!edited(found, editOf(found, given))) return found;
  const user = await tx.lock(userAggregate, found.id, 'user_not_found');
  refuseInactive(user);
  const next = edited(user, editOf(user, given));
  return next ? tx.step(userAggregate, next, 'user.updated').view : user;
}

/** The edit that a request stands for; an e-mail that differs only in case is no change. */
function editOf(user: User, { email, ...texts }: GivenUser): Edit {
  return { ...filled(texts), ...(emailKey(email) !== user.emailKey && { email }) };
}
