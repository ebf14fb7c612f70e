import { Controller } from '@nestjs/common';
import { changeUserEmail, changeUserGateway, type In, resumeUser, suspendUser } from '@recur/contracts';
import { type Caller, Db, Handle } from '@recur/platform';
import { userAggregate } from './aggregate.js';
import { userLifecycle } from './domain/user.js';
import { edited } from './edits.js';
import { holders, refuseTaken, refuseTakenAtCommit, refuseUnusable } from './users.js';

/** Single changes of a user; a change to the present value succeeds without an event. */
@Controller()
export class UserChanges {
  constructor(private readonly db: Db) {}

  @Handle(suspendUser)
  suspend({ userId }: In<typeof suspendUser>, caller: Caller) {
    return this.move(userId, 'suspend', 'Suspend', caller);
  }

  @Handle(resumeUser)
  resume({ userId }: In<typeof resumeUser>, caller: Caller) {
    return this.move(userId, 'resume', 'Resume', caller);
  }

  @Handle(changeUserGateway)
  changeGateway({ userId, ...sent }: In<typeof changeUserGateway>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const user = await tx.lock(userAggregate, userId, 'user_not_found');
      // the payment method belongs to the former gateway
      const left = sent.gatewayId === user.gatewayId ? {} : { gatewayPaymentType: '', paymentMethodId: '' };
      const next = edited(user, { ...left, ...sent });
      if (!next) return {};
      if (next.gatewayId !== user.gatewayId) await refuseUnusable(tx, next.gatewayId);
      tx.step(userAggregate, next, 'user.updated', { log: 'ChangeGateway' });
      return {};
    });
  }

  @Handle(changeUserEmail)
  changeEmail({ userId, email }: In<typeof changeUserEmail>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const user = await tx.lock(userAggregate, userId, 'user_not_found');
      const next = edited(user, { email });
      if (!next) return {};
      refuseTaken(await holders(tx, { email, externalUserId: '' }), userId);
      refuseTakenAtCommit(tx);
      tx.step(userAggregate, next, 'user.updated', { log: 'ChangeEmail' });
      return {};
    });
  }

  private move(userId: number, move: 'suspend' | 'resume', log: string, caller: Caller) {
    return this.db.write(caller, async tx => {
      const user = await tx.lock(userAggregate, userId, 'user_not_found');
      const status = userLifecycle.next(user.status, move);
      if (!status) return {};
      tx.step(userAggregate, { ...user, status }, 'user.updated', { log });
      return {};
    });
  }
}
