import { Controller } from '@nestjs/common';
import { type In, passwordLogin, passwordSetup } from '@recur/contracts';
import { type Caller, Db, Handle } from '@recur/platform';
import { membersWithEmail, severalMerchants } from '../members/by-email.js';
import { SetupTokens } from '../members/setup-tokens.js';
import type { Member } from '../members/tables.js';
import { requireUncommon } from '../passwords/common-passwords.js';
import { addressLine } from '../passwords/lines.js';
import { Passwords } from '../passwords/passwords.js';
import { actingAsMember, Entry, lockActive, refused } from './entry.js';
import { TwoFactor } from './two-factor.js';

/**
 * Signs members in with passwords, without a credential. Every refusal is the same and costs at least one password hash,
 * even if there is no such member. Each merchant that has a member with the e-mail costs a hash.
 */
@Controller()
export class PasswordSignIn {
  constructor(
    private readonly db: Db,
    private readonly passwords: Passwords,
    private readonly twoFactor: TwoFactor,
    private readonly entry: Entry,
    private readonly setupTokens: SetupTokens,
  ) {}

  @Handle(passwordLogin)
  async login({ email, password, totpCode, merchantId }: In<typeof passwordLogin>, caller: Caller) {
    const found = await this.withPassword(caller, email, password, merchantId);
    return this.db.write(actingAsMember(caller, found), async tx => {
      const member = await lockActive(tx, found);
      if (member.passwordHash !== found.passwordHash) throw refused();
      await this.twoFactor.take(tx, member, totpCode);
      return this.entry.open(tx, caller, member, 'SignIn');
    });
  }

  @Handle(passwordSetup)
  async setup({ email, setupToken, newPassword, merchantId }: In<typeof passwordSetup>, caller: Caller) {
    requireUncommon(newPassword);
    const candidates = await membersWithEmail(this.db, caller, email, { merchantId, pending: 'first' });
    const passwordHash = await this.passwords.hash(newPassword, addressLine(caller.sender?.ip ?? ''));
    const invited = await Promise.all(
      candidates.map(member =>
        this.db.read(actingAsMember(caller, member), reader => this.setupTokens.isOf(reader, member.id, setupToken)),
      ),
    );
    const found = candidates.find((_, at) => invited[at]);
    if (!found) throw refused();
    return this.db.write(actingAsMember(caller, found), async tx => {
      const member = await this.entry.setUp(tx, found, setupToken, passwordHash);
      return this.entry.open(tx, caller, member, 'SetUp');
    });
  }

  /** The one active member with this e-mail and password. Where several merchants have one, lists these merchants. */
  private async withPassword(caller: Caller, email: string, password: string, merchantId?: number): Promise<Member> {
    const line = addressLine(caller.sender?.ip ?? '');
    const candidates = (await membersWithEmail(this.db, caller, email, { merchantId, pending: 'last' })).filter(
      ({ passwordHash }) => passwordHash !== null,
    );
    const hashes = candidates.length > 0 ? candidates.map(({ passwordHash }) => passwordHash) : [null];
    const right = await Promise.all(hashes.map(hash => this.passwords.check(hash, password, line)));
    const fitting = candidates.filter(({ status }, at) => right[at] && status === 'active');
    const [found, ...more] = fitting;
    if (!found) throw refused();
    if (more.length > 0) throw await severalMerchants(this.db, caller, fitting, 'password');
    return found;
  }
}
