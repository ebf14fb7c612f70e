import { Controller } from '@nestjs/common';
import { type In, newUser, subscriptionStatus, updateUser, userBillingType, userType } from '@recur/contracts';
import { type Issue, Rejected } from '@recur/kernel';
import { type Appender, type Caller, type CommandReader, Db, Handle } from '@recur/platform';
import { gateways } from '../copies/tables.js';
import { emailKey } from '../domain/email.js';
import { usersLine } from '../passwords/lines.js';
import { Passwords } from '../passwords/passwords.js';
import { accountOf } from './accounts.js';
import { userAggregate } from './aggregate.js';
import { edited } from './edits.js';
import { type User, users } from './tables.js';
import { type NamedUser, userView } from './views.js';

type Names = Pick<User, 'email' | 'externalUserId'>;

/** Creates and updates users, the merchants' customers. */
@Controller()
export class Users {
  constructor(
    private readonly db: Db,
    private readonly passwords: Passwords,
  ) {}

  @Handle(newUser)
  async create({ password, email, ...edit }: In<typeof newUser>, caller: Caller) {
    const passwordHash = password ? await this.passwords.hash(password, usersLine(caller.merchantId)) : null;
    // e-mail and external id are certain by the indexes users_email and users_external
    return this.db.append(caller, async appender => {
      const { externalUserId = '', gatewayId = 0 } = edit;
      const [held, id] = await Promise.all([
        holders(appender, { email, externalUserId }),
        appender.nextId(users),
        refuseUnusable(appender, gatewayId),
      ]);
      refuseTaken(held);
      refuseTakenAtCommit(appender);
      const row = newRow(appender, { ...blankNames, email, id, passwordHash });
      const user = edited(row, edit) ?? row;
      return { user: appender.step(userAggregate, user, 'user.created', { log: 'New' }).view };
    });
  }

  @Handle(updateUser)
  update({ userId, ...edit }: In<typeof updateUser>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const user = await tx.lock(userAggregate, userId, 'user_not_found');
      const next = edited(user, edit);
      if (!next) return { user: await accountOf(tx, userView(user), user) };
      refuseTaken(await holders(tx, next), userId);
      if (next.gatewayId !== user.gatewayId) await refuseUnusable(tx, next.gatewayId);
      refuseTakenAtCommit(tx);
      const { view } = tx.step(userAggregate, next, 'user.updated', { log: 'Update' });
      return { user: await accountOf(tx, view, next) };
    });
  }
}

/** The users that hold this e-mail (case-insensitive) and this external id. */
export async function holders(peeks: Pick<CommandReader, 'peek'>, { email, externalUserId }: Names) {
  const [byEmail, byExternalId] = await Promise.all([
    peeks.peek(users, { emailKey: emailKey(email) }),
    externalUserId ? peeks.peek(users, { externalUserId }) : undefined,
  ]);
  return { byEmail, byExternalId };
}

/** Refuses values held by another user than `own`, naming every such field. */
export function refuseTaken({ byEmail, byExternalId }: Awaited<ReturnType<typeof holders>>, own?: number): void {
  const fields = [
    ...(byEmail && byEmail.id !== own ? ['email'] : []),
    ...(byExternalId && byExternalId.id !== own ? ['externalUserId'] : []),
  ];
  if (fields.length > 0) throw takenField(...fields);
}

/** Refuses an unknown or archived gateway. Gateway 0 is the merchant's default. */
export async function refuseUnusable(peeks: CommandReader, gatewayId: number): Promise<void> {
  if (gatewayId === 0) return;
  peeks.fresh('gateways', gatewayId);
  const gateway = await peeks.peek(gateways, { id: gatewayId });
  if (!gateway) throw peeks.stale('gateways', gatewayId, new Rejected('gateway_not_found'));
  if (gateway.archived) {
    const message = `Gateway ${gatewayId} is archived: cannot give it to a user`;
    throw peeks.stale('gateways', gatewayId, new Rejected('gateway_archived', message));
  }
}

/** Maps violations of the unique indexes to refusals, since another transaction may win after the lookup. */
export function refuseTakenAtCommit(tx: Pick<Appender, 'onConflict'>): void {
  tx.onConflict('users_email', () => takenField('email'));
  tx.onConflict('users_external', () => takenField('externalUserId'));
}

function takenField(...fields: string[]): Rejected {
  const issues = fields.map((field): Issue => ({ path: `/${field}`, message: `Another user has this ${field}` }));
  return new Rejected('invalid_parameters', undefined, issues);
}

type GivenAccount = Names &
  Pick<User, 'id' | 'firstName' | 'lastName' | 'phone' | 'address' | 'language' | 'passwordHash'>;

const blankNames = { externalUserId: '', firstName: '', lastName: '', phone: '', address: '', language: '' };

/** A user as it is created with an e-mail alone. */
export const newUserRow = (peeks: CommandReader, { email, id }: Pick<User, 'email' | 'id'>): NamedUser =>
  newRow(peeks, { ...blankNames, email, id, passwordHash: null });

/** A user as it is created. */
export function newRow({ merchantId, now }: CommandReader, given: GivenAccount): NamedUser {
  return {
    ...given,
    merchantId,
    emailKey: emailKey(given.email),
    status: 'active',
    type: userType.individual,
    billingType: userBillingType.recurring,
    gatewayId: 0,
    profile: {},
    subscriptionId: '',
    subscriptionStatus: subscriptionStatus.init,
    recurringAmount: 0,
    planId: 0,
    planName: '',
    createTime: now,
    version: 0,
  };
}
