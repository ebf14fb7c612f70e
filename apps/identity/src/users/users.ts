import { Controller } from '@nestjs/common';
import {
  type User as Answer,
  type In,
  newUser,
  subscriptionStatus,
  updateUser,
  userBillingType,
  userType,
} from '@recur/contracts';
import { type Issue, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Reader, type Tx } from '@recur/platform';
import { gateways } from '../copies/tables.js';
import { emailKey } from '../domain/email.js';
import { usersLine } from '../passwords/lines.js';
import { Passwords } from '../passwords/passwords.js';
import { accountOf, planNameOf } from './accounts.js';
import { edited } from './edits.js';
import { type User, users } from './tables.js';
import { userView } from './views.js';

type Names = Pick<User, 'email' | 'externalUserId'>;

/** Creates and updates users, the merchants' customers. */
@Controller()
export class Users {
  constructor(
    private readonly db: Db,
    private readonly passwords: Passwords,
  ) {}

  @Handle(newUser)
  async create({ password, ...given }: In<typeof newUser>, caller: Caller) {
    const passwordHash = password ? await this.passwords.hash(password, usersLine(caller.merchantId)) : null;
    return this.db.write(caller, async tx => {
      const [held, id] = await Promise.all([holders(tx, given), tx.nextId(users)]);
      refuseTaken(held);
      refuseTakenAtCommit(tx);
      const user = insertUser(tx, { ...given, id, passwordHash });
      tx.log(`User(${id})`, 'New', { userId: id });
      return { user };
    });
  }

  @Handle(updateUser)
  update({ userId, ...edit }: In<typeof updateUser>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const user = await tx.lock(users, { id: userId }, 'user_not_found');
      const next = edited(user, edit);
      if (!next) return { user: await accountOf(tx, user) };
      refuseTaken(await holders(tx, next), userId);
      if (next.gatewayId !== user.gatewayId) await refuseUnusable(tx, next.gatewayId);
      refuseTakenAtCommit(tx);
      await updateRow(tx, next);
      tx.log(`User(${userId})`, 'Update', { userId });
      // emitting the event increments the version
      return { user: await accountOf(tx, { ...next, version: next.version + 1 }) };
    });
  }
}

/** The users that hold this e-mail (case-insensitive) and this external id. */
export async function holders(reader: Reader, { email, externalUserId }: Names) {
  const [byEmail, byExternalId] = await Promise.all([
    reader.find(users, { emailKey: emailKey(email) }),
    externalUserId ? reader.find(users, { externalUserId }) : undefined,
  ]);
  return { byEmail, byExternalId };
}

/** Refuses values held by another user than `own`, naming every such field. */
export function refuseTaken({ byEmail, byExternalId }: Awaited<ReturnType<typeof holders>>, own?: number): void {
  const fields = [
    ...(byEmail && byEmail.id !== own ? ['email'] : []),
    ...(byExternalId && byExternalId.id !== own ? ['externalUserId'] : []),
  ];
  if (fields.length > 0) throw taken(...fields);
}

/** Refuses an unknown or archived gateway. Gateway 0 is the merchant's default. */
export async function refuseUnusable(tx: Tx, gatewayId: number): Promise<void> {
  if (gatewayId === 0) return;
  const gateway = await tx.find(gateways, { id: gatewayId });
  if (!gateway) throw tx.stale('gateways', gatewayId, new Rejected('gateway_not_found'));
  if (gateway.archived) {
    const message = `Gateway ${gatewayId} is archived: cannot give it to a user`;
    throw tx.stale('gateways', gatewayId, new Rejected('gateway_archived', message));
  }
}

/** Maps violations of the unique indexes to refusals, since another transaction may win after the lookup. */
export function refuseTakenAtCommit(tx: Tx): void {
  tx.onConflict('users_email', () => taken('email'));
  tx.onConflict('users_external', () => taken('externalUserId'));
}

function taken(...fields: string[]): Rejected {
  const issues = fields.map((field): Issue => ({ path: `/${field}`, message: `Another user has this ${field}` }));
  return new Rejected('invalid_parameters', undefined, issues);
}

type NewRow = Names & Pick<User, 'id' | 'firstName' | 'lastName' | 'phone' | 'address' | 'language' | 'passwordHash'>;

/** Creates a user and emits its event; the caller writes the log entry. */
export function insertUser(tx: Tx, given: NewRow): Answer {
  const user: User = {
    ...given,
    merchantId: tx.merchantId,
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
    createTime: tx.now,
    version: 0,
  };
  tx.save(users, user);
  // emitting the first event makes it version 1
  const view = userView({ ...user, version: 1 });
  tx.emit('user.created', user, view);
  return view;
}

/** Saves a locked, changed user and emits its event; the caller writes the log entry. */
export async function updateRow(tx: Tx, user: User): Promise<Answer> {
  const planName = await planNameOf(tx, user);
  tx.save(users, user);
  const view = userView({ ...user, version: user.version + 1 }, planName);
  tx.emit('user.updated', user, view);
  return view;
}
