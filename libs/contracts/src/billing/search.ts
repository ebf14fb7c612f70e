import { z } from 'zod';
import { anyObject, text } from '../field.js';
import { User } from '../identity/user-shape.js';
import * as input from '../input.js';
import { operation } from '../operation.js';
import { Invoice } from './invoices/shape.js';

export const keySearch = operation({
  service: 'billing',
  name: 'search.key_search',
  methods: ['GET', 'POST'],
  path: '/merchant/search/key_search',
  summary: 'What one search field finds: the object with that id, number or e-mail, and users and invoices that match',
  effect: 'read',
  permission: 'user.read',
  also: [{ permission: 'invoice.read' }],
  input: z.object({
    searchKey: input.filled.describe(
      'Exact: id, e-mail or externalUserId of a user; id or number of an invoice, or the digits of its number; id of a ' +
        'subscription, payment or refund. From 3 characters on also a part of the name, company, e-mail or ' +
        'externalUserId of users, ignoring case',
    ),
  }),
  output: z.object({
    precisionMatchObject: z
      .object({
        type: z.enum(['user', 'invoice', 'creditNote', 'subscription', 'payment', 'refund']),
        id: text,
        data: anyObject.describe('The user, the invoice or the credit note; {} for the others'),
      })
      .meta({ 'x-shape': 'PrecisionMatch' })
      .nullable()
      .describe('The object that searchKey names exactly; null if there is none'),
    matchUserAccounts: z.array(User).describe('At most 20, newest first'),
    matchInvoice: z.array(Invoice).describe('At most 20, newest first'),
  }),
  errors: [],
});
