import { Controller } from '@nestjs/common';
import { type In, portalUserDetail, portalUserUpdate } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle } from '@recur/platform';
import { userAggregate } from './aggregate.js';
import { edited } from './edits.js';
import { users } from './tables.js';
import { portalUserView } from './views.js';

/** A user's own details on the hosted pages; the gateway admits no other caller. */
@Controller()
export class OwnDetails {
  constructor(private readonly db: Db) {}

  @Handle(portalUserDetail)
  detail(_input: In<typeof portalUserDetail>, caller: Caller) {
    return this.db.read(caller, async reader => ({
      user: portalUserView(await reader.get(users, { id: ownUserId(caller) }, 'permission_denied')),
    }));
  }

  @Handle(portalUserUpdate)
  update(edit: In<typeof portalUserUpdate>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const user = await tx.lock(userAggregate, ownUserId(caller), 'permission_denied');
      const next = edited(user, edit);
      if (next) tx.step(userAggregate, next, 'user.updated', { log: 'Update' });
      return { user: portalUserView(next ?? user) };
    });
  }
}

/** The id of the calling user. */
function ownUserId({ actor }: Caller): number {
  if (actor.kind !== 'user') throw new Rejected('permission_denied');
  return Number(actor.id);
}
