import { Controller } from '@nestjs/common';
import { type In, passwordLogin, passwordSetup } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle } from '@recur/platform';
import { emailHash, memberWithEmail } from '../members/member-rows.js';
import { SetupTokens } from '../members/setup-tokens.js';
import { type Member, memberEmails } from '../members/tables.js';
import { merchants } from '../merchants/tables.js';
import { requireUncommon } from '../passwords/common-passwords.js';
import { addressLine } from '../passwords/lines.js';
import { Passwords } from '../passwords/passwords.js';
import { actingAs, Entry, lockActive, refused } from './entry.js';
import { TwoFactor } from './two-factor.js';

/** Merchants that one sign-in looks at, and so the password hashes that it costs at most. */
const merchantsPerEmail = 8;

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
    return this.db.write(actingAs(caller, found), async tx => {
      const member = await lockActive(tx, found);
      if (member.passwordHash !== found.passwordHash) throw refused();
      await this.twoFactor.take(tx, member, totpCode);
      return this.entry.open(tx, caller, member, 'SignIn');
    });
  }

  @Handle(passwordSetup)
  async setup({ email, setupToken, newPassword, merchantId }: In<typeof passwordSetup>, caller: Caller) {
    requireUncommon(newPassword);
    const candidates = await this.withEmail(caller, email, merchantId, 'pending first');
    const passwordHash = await this.passwords.hash(newPassword, addressLine(caller.sender?.ip ?? ''));
    const invited = await Promise.all(
      candidates.map(member =>
        this.db.read(actingAs(caller, member), reader => this.setupTokens.isOf(reader, member.id, setupToken)),
      ),
    );
    const found = candidates.find((_, at) => invited[at]);
    if (!found) throw refused();
    return this.db.write(actingAs(caller, found), async tx => {
      const member = await this.entry.setUp(tx, found, setupToken, passwordHash);
      return this.entry.open(tx, caller, member, 'SetUp');
    });
  }

  /** The one active member with this e-mail and password. Where several merchants have one, lists these merchants. */
  private async withPassword(caller: Caller, email: string, password: string, merchantId?: number): Promise<Member> {
    const line = addressLine(caller.sender?.ip ?? '');
    const candidates = (await this.withEmail(caller, email, merchantId, 'pending last')).filter(
      ({ passwordHash }) => passwordHash !== null,
    );
    const hashes = candidates.length > 0 ? candidates.map(({ passwordHash }) => passwordHash) : [null];
    const right = await Promise.all(hashes.map(hash => this.passwords.check(hash, password, line)));
    const fitting = candidates.filter(({ status }, at) => right[at] && status === 'active');
    const [found, ...more] = fitting;
    if (!found) throw refused();
    if (more.length > 0) throw await this.ambiguous(caller, fitting);
    return found;
  }

  /** The members with an e-mail, of at most `merchantsPerEmail` merchants, the oldest merchants first. */
  private async withEmail(
    caller: Caller,
    email: string,
    merchantId: number | undefined,
    order: 'pending first' | 'pending last',
  ): Promise<Member[]> {
    const rows = await this.db.infra(
      `select merchant_id from ${memberEmails.table}
       where email_hash = $1 and ($2::bigint is null or merchant_id = $2)
       order by pending ${order === 'pending first' ? 'desc' : 'asc'}, merchant_id limit ${merchantsPerEmail}`,
      [emailHash(email.trim()), merchantId ?? null],
    );
    // an unknown e-mail is looked up too, in a merchant that does not exist (no timing oracle)
    const ids = rows.length > 0 ? rows.map(row => Number(row.merchant_id)) : [0];
    const found = await Promise.all(
      ids.map(id => this.db.read({ ...caller, merchantId: id }, reader => memberWithEmail(reader, email))),
    );
    return found.flatMap(member => member ?? []);
  }

  private async ambiguous(caller: Caller, fitting: readonly Member[]): Promise<Rejected> {
    const names = await Promise.all(
      fitting.map(({ merchantId }) =>
        this.db.read({ ...caller, merchantId }, async reader => (await reader.find(merchants, {}))?.name ?? ''),
      ),
    );
    return new Rejected(
      'invalid_parameters',
      'Several merchants have a member with this e-mail and password: choose one of them with merchantId',
      fitting.map(({ merchantId }, at) => ({ path: '/merchantId', message: `${merchantId}: ${names[at]}` })),
    );
  }
}
