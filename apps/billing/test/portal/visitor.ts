import type { TestCaller } from '@recur/platform/testing';

/** The gateway's caller for a user of the hosted pages. */
export const visitor = (userId: number, merchantId = 15): TestCaller => ({
  merchantId,
  actor: { kind: 'user', id: String(userId), display: `user${userId}@example.com` },
});
