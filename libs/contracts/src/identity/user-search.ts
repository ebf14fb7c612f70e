import { z } from 'zod';
import * as input from '../input.js';
import { internal } from '../operation.js';
import { User } from './user-shape.js';

/** The users that a key finds: `named` has it as its id, e-mail or externalUserId; `others` have it in a text. */
export const usersByKey = internal({
  service: 'identity',
  name: 'platform.users_by_key',
  amongServices: true,
  askedBy: ['billing'],
  input: z.object({ key: input.filled, most: z.int().min(1).max(100) }),
  output: z.object({ named: User.nullable(), others: z.array(User) }),
});
