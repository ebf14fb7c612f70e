import { Controller } from '@nestjs/common';
import {
  deletePaymentMethod,
  getPaymentMethod,
  type In,
  listPaymentMethods,
  newPaymentMethod,
  type PaymentMethod,
} from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import { assertUser, findUser } from '../customers/users.js';
import type { SavedMethod } from './adapters/adapter.js';
import { GatewayAdapters } from './adapters/registry.js';
import { GatewayAnswers } from './answers.js';
import { announceMethod } from './chargeable.js';
import { usableGateway } from './domain/gateway.js';
import { allGateways, getGateway } from './lookup.js';
import { gatewayUsers, type PaymentMethodRow, paymentMethods } from './tables.js';

const methodsPerUser = 50;

/** Users' saved payment methods. The gateway is called between two transactions, never in one. */
@Controller()
export class PaymentMethods {
  constructor(
    private readonly db: Db,
    private readonly answers: GatewayAnswers,
    private readonly adapters: GatewayAdapters,
  ) {}

  @Handle(newPaymentMethod)
  async create({ gatewayId, userId, data }: In<typeof newPaymentMethod>, caller: Caller) {
    // a write, since it may have to ask for the user; under no key, which belongs to the write below
    const { idempotencyKey, ...asking } = caller;
    const { gatewayName, account, ...known } = await this.db.write(asking, async tx => {
      const [all, found, user] = await Promise.all([
        allGateways(tx),
        findUser(tx, { userId }),
        tx.find(gatewayUsers, { gatewayId, userId }),
      ]);
      const { email } = assertUser(tx, { userId }, found).data;
      const gateway = usableGateway(all, gatewayId);
      const { gatewayName } = gateway;
      return { gatewayName, account: this.answers.account(gateway), email, gatewayUserId: user?.gatewayUserId ?? '' };
    });
    const answer = await this.adapterOf(gatewayId, gatewayName).saveMethod(account, {
      idempotencyKey: `method-${gatewayId}-${userId}-${idempotencyKey ?? caller.requestId}`,
      ...{ userId, data, ...known },
    });
    if (answer.is === 'refused') throw invalid('/data', `was refused by the gateway: ${answer.reason}`);
    return this.db.write(caller, async tx => {
      tx.onConflict('gateway_users_pkey', 'again');
      const isNewUser = !(await tx.lockIfAny(gatewayUsers, { gatewayId, userId }));
      if (isNewUser) {
        tx.save(gatewayUsers, { merchantId: tx.merchantId, gatewayId, userId, gatewayUserId: answer.gatewayUserId });
      }
      const kept = answer.is === 'saved' ? await keepMethod(tx, { gatewayId, userId }, answer.method) : undefined;
      if (isNewUser || kept?.isNew) tx.log(`User(${userId})`, 'NewPaymentMethod', { userId });
      return kept
        ? { method: methodView(kept.method), url: '' }
        : { method: null, url: answer.is === 'page' ? answer.url : '' };
    });
  }

  @Handle(getPaymentMethod)
  get({ gatewayId, userId, paymentMethodId: methodId }: In<typeof getPaymentMethod>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const where = { methodId, gatewayId, userId };
      return { method: methodView(await reader.get(paymentMethods, where, 'payment_method_not_found')) };
    });
  }

  @Handle(deletePaymentMethod)
  async remove({ gatewayId, userId, paymentMethodId: methodId }: In<typeof deletePaymentMethod>, caller: Caller) {
    const gone = await this.db.read(caller, async reader => {
      const method = await reader.find(paymentMethods, { methodId, gatewayId, userId });
      return { method, gateway: method && (await getGateway(reader, gatewayId)) };
    });
    const answer = await this.db.write(caller, async tx => {
      const method = await tx.lock(paymentMethods, { methodId, gatewayId, userId }, 'payment_method_not_found');
      await tx.run('delete from payment_methods where merchant_id = $1 and method_id = $2', [tx.merchantId, methodId]);
      const [next] = await tx.parts(paymentMethods, { gatewayId, userId }, 'order by create_time desc, method_id desc');
      if (method.isDefault && next) tx.save(paymentMethods, { ...next, isDefault: true });
      tx.log(`User(${userId})`, 'DeletePaymentMethod', { userId });
      return {};
    });
    // last: a method that the gateway has forgotten must not be charged
    if (gone.method && gone.gateway) {
      const adapter = this.adapters.of(gone.gateway.gatewayName);
      await adapter?.deleteMethod(this.answers.account(gone.gateway), gone.method.gatewayMethodId);
    }
    return answer;
  }

  @Handle(listPaymentMethods)
  list({ gatewayId, userId, paymentId }: In<typeof listPaymentMethods>, caller: Caller) {
    return this.db.read(caller, async reader => {
      // payments are invoicing's; this wing reads the one column that names their user
      const [payment] =
        userId === 0 && paymentId !== ''
          ? await reader.query('select user_id from payments where merchant_id = $1 and payment_id = $2', [
              reader.merchantId,
              paymentId,
            ])
          : [];
      const where = { gatewayId, userId: userId || Number(payment?.user_id ?? 0) };
      const rows = await reader.all(paymentMethods, where, 'order by create_time desc, method_id desc');
      return { methodList: rows.map(methodView) };
    });
  }

  private adapterOf(gatewayId: number, gatewayName: string) {
    const adapter = this.adapters.of(gatewayName);
    if (adapter) return adapter;
    throw new Rejected(
      'gateway_without_methods',
      `Gateway ${gatewayId} is ${gatewayName}: it saves no payment methods`,
    );
  }
}

/**
 * Keeps a payment method that the gateway has saved; the first one of a user becomes the default. A method that is there
 * already is returned. The caller writes the log entry if it is new. Throws Rejected `too_many_payment_methods`.
 */
export async function keepMethod(
  tx: Tx,
  { gatewayId, userId }: Pick<PaymentMethodRow, 'gatewayId' | 'userId'>,
  { gatewayMethodId, type, data }: SavedMethod,
): Promise<{ method: PaymentMethodRow; isNew: boolean }> {
  tx.onConflict('payment_methods_once', 'again');
  tx.onConflict('payment_methods_one_default', 'again');
  const held = await tx.parts(paymentMethods, { gatewayId, userId }, 'order by method_id');
  const known = held.find(method => method.gatewayMethodId === gatewayMethodId);
  if (known) return { method: known, isNew: false };
  if (held.length >= methodsPerUser) throw new Rejected('too_many_payment_methods');
  const method: PaymentMethodRow = {
    ...{ merchantId: tx.merchantId, methodId: tx.newId('pm_'), gatewayId, userId, type, data, gatewayMethodId },
    isDefault: held.length === 0,
    createTime: tx.now,
  };
  tx.save(paymentMethods, method);
  announceMethod(tx, { gatewayId, userId });
  return { method, isNew: true };
}

const methodView = ({ methodId: id, type, isDefault, data }: PaymentMethodRow): PaymentMethod => ({
  ...{ id, type, isDefault, data },
});
