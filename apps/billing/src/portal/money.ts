import { Controller } from '@nestjs/common';
import {
  type In,
  listCreditAccounts,
  listCreditTransactions,
  portalCreditDetail,
  portalMethodDelete,
  portalMethodList,
  portalMethodNew,
  portalMethodSetDefault,
  portalUsageList,
} from '@recur/contracts';
import { type Caller, Db, Handle } from '@recur/platform';
import { CreditAccounts } from '../credits/accounts.js';
import { makeDefault, methodsOfUser, PaymentMethods } from '../gateways/payment-methods.js';
import { assertOwnSubscription } from '../subscriptions/find.js';
import { UserUsage } from '../usage/user-usage.js';
import { userOf } from './caller.js';
import { Handlers } from './handlers.js';

/** Changes of credit accounts that are shown. */
const CHANGES = 100;

/** Payment methods, usage and credits of the calling user. */
@Controller()
export class OwnMoney {
  constructor(
    private readonly db: Db,
    private readonly handlers: Handlers,
  ) {}

  @Handle(portalMethodList)
  methodList(_input: In<typeof portalMethodList>, caller: Caller) {
    return this.db.read(caller, async reader => ({ methods: await methodsOfUser(reader, userOf(caller)) }));
  }

  @Handle(portalMethodNew)
  newMethod(input: In<typeof portalMethodNew>, caller: Caller) {
    return this.handlers.of(PaymentMethods).create({ ...input, userId: userOf(caller) }, caller);
  }

  @Handle(portalMethodDelete)
  deleteMethod(which: In<typeof portalMethodDelete>, caller: Caller) {
    return this.handlers.of(PaymentMethods).remove({ ...which, userId: userOf(caller) }, caller);
  }

  @Handle(portalMethodSetDefault)
  setDefaultMethod({ gatewayId, paymentMethodId: methodId }: In<typeof portalMethodSetDefault>, caller: Caller) {
    const userId = userOf(caller);
    return this.db.write(caller, async tx => {
      if (await makeDefault(tx, { gatewayId, userId, methodId })) tx.log(`User(${userId})`, 'SetDefaultPaymentMethod');
      return {};
    });
  }

  @Handle(portalUsageList)
  async usage({ subscriptionId }: In<typeof portalUsageList>, caller: Caller) {
    await this.db.read(caller, reader => assertOwnSubscription(reader, subscriptionId, userOf(caller)));
    return portalUsageList.output.parse(await this.handlers.of(UserUsage).ofSubscription({ subscriptionId }, caller));
  }

  @Handle(portalCreditDetail)
  async credits(_input: In<typeof portalCreditDetail>, caller: Caller) {
    const mine = { userId: userOf(caller), count: CHANGES };
    const accounts = this.handlers.of(CreditAccounts);
    const [{ creditAccounts }, main, promo] = await Promise.all([
      accounts.list(listCreditAccounts.input.parse(mine), caller),
      accounts.transactions(listCreditTransactions.input.parse({ ...mine, accountType: 1 }), caller),
      accounts.transactions(listCreditTransactions.input.parse({ ...mine, accountType: 2 }), caller),
    ]);
    const creditTransactions = [...main.creditTransactions, ...promo.creditTransactions]
      .sort((a, b) => b.createTime - a.createTime || b.id - a.id)
      .slice(0, CHANGES);
    return portalCreditDetail.output.parse({ creditAccounts, creditTransactions });
  }
}
