import { z } from 'zod';
import { Empty, integer, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';
import { MemberShort } from './members.js';
import { User } from './user-shape.js';

const userAdminNote = z.object({
  id: integer,
  createTime: time,
  merchantMemberId: integer,
  userId: integer,
  note: text,
  merchantMember: MemberShort.nullable(),
  userAccount: User.nullable(),
});
export interface UserAdminNote extends z.output<typeof userAdminNote> {}
export const UserAdminNote: Shape<UserAdminNote> = userAdminNote.meta({ id: 'UserAdminNote' });

export const newAdminNote = operation({
  service: 'identity',
  name: 'user.new_admin_note',
  methods: ['POST'],
  path: '/merchant/user/new_admin_note',
  summary: 'Add a note on a user as the signed-in member',
  effect: 'write',
  permission: 'user.write',
  memberOnly: true,
  input: z.object({ userId: z.int(), note: input.rule(input.prose, 'may not be blank', note => note.trim() !== '') }),
  output: Empty,
  errors: ['user_not_found'],
});

export const adminNoteList = operation({
  service: 'identity',
  name: 'user.admin_note_list',
  methods: ['GET', 'POST'],
  path: '/merchant/user/admin_note_list',
  summary: 'Notes of members on a user, newest first',
  effect: 'read',
  permission: 'user.read',
  input: input.paged(z.object({ userId: input.q.int(), ...input.paging })),
  output: z.object({ noteLists: z.array(UserAdminNote) }),
  errors: ['user_not_found'],
});
