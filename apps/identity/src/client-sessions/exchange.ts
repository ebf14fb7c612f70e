import { hash } from 'node:crypto';
import { Controller, Inject } from '@nestjs/common';
import { type In, type Out, portalSessionExchange, portalSessionRefresh } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, CLOCK, type Clock, CONFIG, Db, Handle } from '@recur/platform';
import { type Signer, SigningKeys } from '../callers/signing-keys.js';
import { signToken } from '../callers/tokens.js';
import type { Config } from '../config.js';
import { merchants } from '../merchants/tables.js';
import { portalMerchantView } from '../merchants/views.js';
import { type User, users } from '../users/tables.js';
import { portalUserView } from '../users/views.js';
import { refuseInactive } from './new-session.js';
import { type ClientSession, clientSessions } from './tables.js';

const userTokenSeconds = 900;
/** Time from the exchange within which tokens are refreshed. */
const refreshSeconds = 28_800;

type Token = Out<typeof portalSessionRefresh>;

/**
 * Exchanges client sessions for tokens of their users. A link works once: whoever reads it later in a history or a log
 * gets nothing. The token is a page's for 15 minutes, and is renewed for 8 hours. Both go by real time.
 */
@Controller()
export class SessionExchange {
  constructor(
    private readonly db: Db,
    private readonly signingKeys: SigningKeys,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Handle(portalSessionExchange)
  async exchange({ clientSession }: In<typeof portalSessionExchange>, caller: Caller) {
    const sessionHash = hash('sha256', clientSession, 'base64url');
    const found = await this.userOf(sessionHash, caller);
    return this.db.write(actingAsUser(caller, found), async tx => {
      const session = await tx.lock(clientSessions, { sessionHash }, 'client_session_expired');
      if (session.exchangeTime !== 0) throw new Rejected('client_session_used');
      const at = this.wallSeconds();
      if (session.expireTime <= at) throw new Rejected('client_session_expired');
      const [user, merchant] = await Promise.all([
        tx.get(users, { id: session.userId }, 'client_session_expired'),
        tx.get(merchants, {}, 'client_session_expired'),
      ]);
      refuseInactive(user);
      const removeTime = Math.max(session.removeTime, at + refreshSeconds);
      const exchanged = { ...session, exchangeTime: at, removeTime };
      tx.save(clientSessions, exchanged);
      tx.log(`User(${user.id})`, 'OpenPages', { userId: user.id });
      return {
        ...(await this.token(await this.signingKeys.signer(tx), exchanged, user)),
        purpose: session.subscriptionId === '' ? ('portal' as const) : ('change_plan' as const),
        user: portalUserView(user),
        merchant: portalMerchantView(merchant),
        productId: session.productId,
        planId: session.planId,
        subscriptionId: session.subscriptionId,
        vatCountryCode: session.vatCountryCode,
        returnUrl: session.returnUrl,
        cancelUrl: session.cancelUrl,
      };
    });
  }

  @Handle(portalSessionRefresh)
  refresh(_input: In<typeof portalSessionRefresh>, caller: Caller): Promise<Token> {
    return this.db.read(caller, async reader => {
      const named = { sessionHash: caller.session ?? '', userId: Number(caller.actor.id) };
      const session = await reader.get(clientSessions, named, 'client_session_expired');
      if (refreshEnd(session) <= this.wallSeconds()) throw new Rejected('client_session_expired');
      const user = await reader.get(users, { id: session.userId }, 'client_session_expired');
      refuseInactive(user);
      return this.token(await this.signingKeys.current(reader), session, user);
    });
  }

  /** The merchant and user of a session. Throws Rejected `client_session_expired` where there is no such session. */
  private async userOf(sessionHash: string, caller: Caller): Promise<Pick<User, 'merchantId' | 'id' | 'email'>> {
    const text = `select merchant_id, user_id from ${clientSessions.table} where session_hash = $1`;
    const [row] = await this.db.infra(text, [sessionHash]);
    if (!row) throw new Rejected('client_session_expired');
    const merchantId = Number(row.merchant_id);
    return this.db.read({ ...caller, merchantId }, reader =>
      reader.get(users, { id: Number(row.user_id) }, 'client_session_expired'),
    );
  }

  /** A token of the user, verifiable by gateways in memory. */
  private async token(signer: Signer, session: ClientSession, { id, email }: User): Promise<Token> {
    const iat = this.wallSeconds();
    const endsAt = refreshEnd(session);
    const exp = Math.min(iat + userTokenSeconds, endsAt);
    const claims = { sub: String(id), merchant: session.merchantId, sid: session.sessionHash, email, iat, exp };
    return { token: await signToken(signer, this.config, 'user+jwt', claims), expiresAt: exp, endsAt };
  }

  private wallSeconds(): number {
    return Math.floor(this.clock.wall() / 1000);
  }
}

const refreshEnd = ({ exchangeTime }: ClientSession) => exchangeTime + refreshSeconds;

/** The caller with the user as its actor. Its Idempotency-Key is apart from those of the merchant. */
const actingAsUser = (
  caller: Caller,
  { merchantId, id, email }: Pick<User, 'merchantId' | 'id' | 'email'>,
): Caller => ({
  ...caller,
  merchantId,
  actor: { kind: 'user', id: String(id), display: email },
  ...(caller.idempotencyKey !== undefined && { idempotencyKey: `user ${id} ${caller.idempotencyKey}` }),
});
