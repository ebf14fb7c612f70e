import { emptyOf, type OperationLogged, User, userType } from '@recur/contracts';
import type { TestService } from '@recur/platform/testing';

/** Lets billing know a user, as by identity's event. */
export async function knowUser(t: TestService, id: number, over: Partial<User> = {}, merchantId = 15): Promise<void> {
  const data = { ...emptyOf(User), id, merchantId, email: `user${id}@example.com`, ...over };
  await t.deliver('identity', [
    {
      id: `ev_user_${merchantId}_${id}`,
      type: 'user.created',
      merchantId,
      aggregate: 'user',
      version: 1,
      data,
      aggregateId: String(id),
      at: 1,
      requestId: 'r',
      traceparent: '',
      actor: { kind: 'system', id: '', display: '' } satisfies OperationLogged['actor'],
    },
  ]);
}

/** A business in a country, with a VAT number. */
export const business = (countryCode: string, vATNumber: string): Partial<User> => ({
  type: userType.business,
  countryCode,
  vATNumber,
});
