import { Controller } from '@nestjs/common';
import { type In, renewSubscription } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle } from '@recur/platform';
import { assertBuyer, findUser } from '../../customers/users.js';
import { findMethod } from '../../gateways/gateway-index.js';
import { hasEnded, type Subscription } from '../domain/subscription.js';
import { lockNamed } from '../find.js';
import { subscriptions } from '../tables.js';
import { addonParamsOf } from '../views.js';
import { askedForCreate } from './asked.js';
import { DuplicateSubscriptions } from './create.js';
import { quote } from './quote.js';
import { SubscriptionStart } from './start.js';

/** subscription/renew: a new subscription, with an anchor of its own, in place of one that has ended. */
@Controller()
export class RenewSubscription {
  constructor(
    private readonly db: Db,
    private readonly others: DuplicateSubscriptions,
    private readonly begins: SubscriptionStart,
  ) {}

  @Handle(renewSubscription)
  renew({ subscriptionId, userId, productId, ...input }: In<typeof renewSubscription>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const old = await lockNamed(tx, { subscriptionId, userId, productId });
      if (!hasEnded(old.status)) {
        const message = `Subscription ${old.subscriptionId} is ${old.status}: cannot renew it`;
        throw new Rejected('subscription_wrong_state', message);
      }
      const key = { userId: old.userId };
      const user = assertBuyer(tx, key, await findUser(tx, key));
      await this.others.takeTurns(tx, user.id);
      const gatewayId = input.gatewayId || old.gatewayId;
      const { userId: ownerId, paymentMethodId: methodId } = old;
      // the method may be gone, or of another gateway
      const method = methodId === '' ? undefined : await findMethod(tx, { gatewayId, userId: ownerId, methodId });
      const given = { ...renewedTerms(old), ...input, gatewayId, paymentMethodId: method?.methodId ?? '' };
      const asked = await askedForCreate(tx, user, `renew ${old.subscriptionId}`, given);
      const again = await this.others.repeated(tx, { ...given, userId: user.id, asked });
      if (again) return { action: {}, ...again };
      const ids = { id: await tx.nextId(subscriptions), subscriptionId: tx.newId('sub_') };
      const terms = { ...given, asked };
      const quoted = await quote(tx, terms, user, caller, ids, 'renew');
      await this.others.resolve(tx, quoted.sub);
      return { action: {}, ...(await this.begins.start(tx, quoted, { ...terms, startIncomplete: false }, 'Renew')) };
    });
  }
}

/** The terms of a subscription for another one: the same plan, quantity and add-ons, from now on and without a trial. */
const renewedTerms = (old: Subscription) => ({
  planId: old.planId,
  quantity: old.quantity,
  addonParams: addonParamsOf(old),
  currency: old.currency,
  userId: old.userId,
  externalUserId: '',
  email: '',
  timeZone: old.timeZone,
  vatNumber: old.vatNumber,
  vatCountryCode: old.countryCode,
  confirmCurrency: '',
  splitPayment: false,
  trialEnd: 0,
  freeInInitialPeriod: false,
  freeTimeEnd: 0,
  billingAnchorDay: 0,
});
