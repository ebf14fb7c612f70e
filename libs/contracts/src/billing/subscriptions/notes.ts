import { z } from 'zod';
import { Empty, integer, type Shape, text, time } from '../../field.js';
import * as input from '../../input.js';
import { operation } from '../../operation.js';

const merchantMemberBrief = z.object({ id: integer, email: text });
/** The member who wrote a note: its id, and its e-mail at the time. */
export interface MerchantMemberBrief extends z.output<typeof merchantMemberBrief> {}
export const MerchantMemberBrief: Shape<MerchantMemberBrief> = merchantMemberBrief.meta({ id: 'MerchantMemberBrief' });

const subscriptionNote = z.object({
  id: integer,
  note: text,
  createTime: time,
  subscriptionId: text,
  merchantMember: MerchantMemberBrief.nullable(),
});
export interface SubscriptionNote extends z.output<typeof subscriptionNote> {}
export const SubscriptionNote: Shape<SubscriptionNote> = subscriptionNote.meta({ id: 'SubscriptionNote' });

export const newSubscriptionNote = operation({
  service: 'billing',
  name: 'subscription.new_admin_note',
  methods: ['POST'],
  path: '/merchant/subscription/new_admin_note',
  summary: 'Add a note on a subscription',
  effect: 'write',
  permission: 'subscription.write',
  input: z.object({
    subscriptionId: input.filled,
    note: input.rule(input.prose, 'may not be blank', note => note.trim() !== ''),
  }),
  output: Empty,
  errors: ['subscription_not_found'],
});

export const listSubscriptionNotes = operation({
  service: 'billing',
  name: 'subscription.admin_note_list',
  methods: ['GET', 'POST'],
  path: '/merchant/subscription/admin_note_list',
  summary: 'Notes of members on a subscription, newest first',
  effect: 'read',
  permission: 'subscription.read',
  input: input.paged(z.object({ subscriptionId: input.filled, ...input.paging })),
  output: z.object({ noteLists: z.array(SubscriptionNote), total: input.total }),
  errors: ['subscription_not_found'],
});
