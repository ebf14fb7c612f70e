import { Controller } from '@nestjs/common';
import { adminNoteList, type In, newAdminNote } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle } from '@recur/platform';
import { membersById } from '../members/member-rows.js';
import { userAggregate } from './aggregate.js';
import { adminNotes, users } from './tables.js';
import { adminNoteView, userView } from './views.js';

/** Notes of members on users; they are never changed. */
@Controller()
export class AdminNotes {
  constructor(private readonly db: Db) {}

  @Handle(newAdminNote)
  create({ userId, note }: In<typeof newAdminNote>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const memberId = callingMember(caller);
      const [, id] = await Promise.all([tx.get(users, { id: userId }, 'user_not_found'), tx.nextId(adminNotes)]);
      tx.save(adminNotes, { merchantId: tx.merchantId, id, userId, memberId, note, createTime: tx.now });
      tx.log(`User(${userId})`, 'NewAdminNote', { userId });
      return {};
    });
  }

  @Handle(adminNoteList)
  list({ userId, page, count }: In<typeof adminNoteList>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const user = await reader.get(userAggregate, userId, 'user_not_found');
      const { rows } = await reader.page({
        from: adminNotes,
        where: [['user_id = ?', userId]],
        order: 'create_time desc, id desc',
        page,
        count,
      });
      const known = await membersById(reader, rows);
      const userAccount = userView(user);
      return { noteLists: rows.map(note => adminNoteView(note, known.get(note.memberId), userAccount)) };
    });
  }
}

/** The author of a note: only a member can be one. */
function callingMember({ actor }: Caller): number {
  if (actor.kind !== 'member') throw new Rejected('permission_denied', 'Only a member writes notes');
  return Number(actor.id);
}
