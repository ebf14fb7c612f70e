import { Injectable } from '@nestjs/common';
import { type In, newUser, userBillingType, userType } from '@recur/contracts';
import { type Issue, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle } from '@recur/platform';
import { emailKey } from './domain/email.js';
import { Passwords } from './passwords.js';
import { type User, users } from './tables.js';
import { userView } from './views.js';

@Injectable()
export class Users {
  constructor(
    private readonly db: Db,
    private readonly passwords: Passwords,
  ) {}

  @Handle(newUser)
  async create({ password, ...given }: In<typeof newUser>, caller: Caller) {
    const passwordHash = password ? await this.passwords.hash(password) : null;
    return this.db.write(caller, async tx => {
      const { email, externalUserId } = given;
      const key = emailKey(email);
      const [byEmail, byExternalId, id] = await Promise.all([
        tx.find(users, { emailKey: key }),
        externalUserId ? tx.find(users, { externalUserId }) : undefined,
        tx.nextId(users),
      ]);
      if (byEmail || byExternalId)
        throw taken(...(byEmail ? ['email'] : []), ...(byExternalId ? ['externalUserId'] : []));
      // what was found above may be out of date: the indices decide
      tx.onConflict('users_email', () => taken('email'));
      tx.onConflict('users_external', () => taken('externalUserId'));
      const user: User = {
        ...given,
        merchantId: tx.merchantId,
        id,
        emailKey: key,
        passwordHash,
        status: 'active',
        type: userType.individual,
        billingType: userBillingType.recurring,
        gatewayId: 0,
        createTime: tx.now,
        version: 0,
      };
      tx.save(users, user);
      // the row is at version 1 once its first event is written
      const view = userView({ ...user, version: 1 });
      tx.emit('user.created', user, view);
      tx.log(`User(${id})`, 'New', { userId: id });
      return { user: view };
    });
  }
}

function taken(...fields: string[]): Rejected {
  const issues = fields.map((field): Issue => ({ path: `/${field}`, message: `Another user has this ${field}` }));
  return new Rejected('invalid_parameters', undefined, issues);
}
