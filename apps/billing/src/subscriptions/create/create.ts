import { Controller } from '@nestjs/common';
import { createSubscription, type In } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import { assertBuyer, type Customer, findUser } from '../../customers/users.js';
import { assertSaved, findMethod } from '../../gateways/lookup.js';
import { subscriptions } from '../tables.js';
import { askedOf } from './asked.js';
import { FirstPeriods } from './first-period.js';
import { Others } from './others.js';
import { type Quote, quote } from './quote.js';
import { assertNamed, userKeyOf } from './user-key.js';

type Input = In<typeof createSubscription>;

/** subscription/create_submit. */
@Controller()
export class Subscribing {
  constructor(
    private readonly db: Db,
    private readonly others: Others,
    private readonly begins: FirstPeriods,
  ) {}

  @Handle(createSubscription)
  create(input: Input, caller: Caller) {
    return this.db.write(caller, tx => this.created(tx, input, caller));
  }

  /** Creates a subscription within a transaction of the caller. */
  async created(tx: Tx, input: Input, caller: Caller) {
    const key = userKeyOf(input);
    assertNamed(key);
    const user = assertBuyer(tx, key, await findUser(tx, key));
    await this.others.takeTurns(tx, user.id);
    const asked = await askedOf(tx, user, 'create', input);
    const again = await this.others.again(tx, { ...input, userId: user.id, asked });
    const made = again ?? (await this.begun(tx, input, caller, user, asked));
    return { action: {}, otherPendingCryptoSubscription: null, token: '', user: user.data, ...made };
  }

  private async begun(tx: Tx, input: Input, caller: Caller, user: Customer, asked: string) {
    const ids = { id: await tx.nextId(subscriptions), subscriptionId: tx.newId('sub_') };
    const quoted = await quote(tx, { ...input, asked }, user, caller, ids);
    assertConfirmed(input, quoted);
    await assertMethod(tx, quoted);
    await this.others.replace(tx, quoted.sub);
    return this.begins.make(tx, quoted, input, 'New');
  }
}

/** The currency and total of the preview that the caller confirms. */
function assertConfirmed({ confirmCurrency, confirmTotalAmount }: Input, { sub, composed }: Quote): void {
  if (confirmCurrency !== '' && confirmCurrency !== sub.currency) {
    throw invalid('/confirmCurrency', `is ${confirmCurrency}: the subscription is in ${sub.currency}`);
  }
  const { totalAmount } = composed.composition.amounts;
  if (confirmTotalAmount === undefined || BigInt(confirmTotalAmount) === totalAmount) return;
  throw new Rejected('total_changed', `The total is ${totalAmount}, not ${confirmTotalAmount}`);
}

/** The payment method that is named, or that the trial of the plan demands. */
async function assertMethod(tx: Tx, { sub, plan }: Quote): Promise<void> {
  const { gatewayId, userId, paymentMethodId: methodId, trialEnd } = sub;
  await assertSaved(tx, { gatewayId, userId, methodId });
  const isDemanded = trialEnd > 0 && plan.trialDemand === 'paymentMethod';
  if (!isDemanded || (await findMethod(tx, { gatewayId, userId, methodId }))) return;
  throw invalid('/paymentMethodId', 'is required: the trial of the plan needs a saved payment method');
}
