import { Controller } from '@nestjs/common';
import { deletePaymentMethod, getPaymentMethod, type In, newPaymentMethod, type PaymentMethod } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Reader, type Tx } from '@recur/platform';
import { assertUser, type Customer, findUser } from '../customers/users.js';
import type { MethodAnswer, MethodRequest, SavedMethod } from './adapters/adapter.js';
import { GatewayAdapters } from './adapters/adapters.js';
import { announceMethod, type UserAtGateway } from './chargeable.js';
import { GatewayCredentials } from './credentials.js';
import { usableGateway } from './domain/gateway.js';
import { allGateways, getGateway } from './gateway-index.js';
import { gatewayUsers, type PaymentMethodRow, paymentMethods } from './tables.js';

const methodsPerUser = 50;

/** Users' saved payment methods. The gateway is called between two transactions, never in one. */
@Controller()
export class PaymentMethods {
  constructor(
    private readonly db: Db,
    private readonly answers: GatewayCredentials,
    private readonly adapters: GatewayAdapters,
  ) {}

  @Handle(newPaymentMethod)
  async create({ gatewayId, userId, data }: In<typeof newPaymentMethod>, caller: Caller) {
    const answer = await this.saved({ gatewayId, userId }, data, caller);
    return this.db.write(caller, async tx => {
      const { method, isNew } = await keepAnswer(tx, { gatewayId, userId }, answer);
      if (isNew) tx.log(`User(${userId})`, 'NewPaymentMethod', { userId });
      return { method: method ? methodView(method) : null, url: answer.is === 'page' ? answer.url : '' };
    });
  }

  /**
   * Has the gateway save a method, outside of any transaction: `keepAnswer` keeps what it answered. Repeated under the
   * caller's key, the gateway saves it once. Throws Rejected for an unknown user or gateway, and for refused data.
   */
  async saved(
    { gatewayId, userId }: UserAtGateway,
    data: MethodRequest['data'],
    caller: Caller,
  ): Promise<SavedAnswer | PageAnswer> {
    // a write, since it may have to ask for the user; under no key, which belongs to the write that keeps the answer
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
      userId,
      data,
      ...known,
    });
    if (answer.is === 'refused') throw invalid('/data', `was refused by the gateway: ${answer.reason}`);
    return answer;
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
      if (method.isDefault && next) {
        tx.save(paymentMethods, { ...next, isDefault: true });
        announceMethod(tx, next);
      }
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

  private adapterOf(gatewayId: number, gatewayName: string) {
    const adapter = this.adapters.of(gatewayName);
    if (adapter) return adapter;
    throw new Rejected(
      'gateway_without_methods',
      `Gateway ${gatewayId} is ${gatewayName}: it saves no payment methods`,
    );
  }
}

/** The saved methods of a user at a gateway as the API shows them, newest first. */
export async function savedMethodsOf(reader: Reader, at: UserAtGateway): Promise<PaymentMethod[]> {
  const rows = await reader.all(paymentMethods, at, 'order by create_time desc, method_id desc');
  return rows.map(methodView);
}

export type SavedAnswer = Extract<MethodAnswer, { is: 'saved' }>;
type PageAnswer = Extract<MethodAnswer, { is: 'page' }>;

/**
 * Keeps what the gateway answered to a method: its id of the user, and the method, unless its page is still to be filled
 * in. `isNew`: the gateway did not know the user or the method before; the caller writes the log entry. Throws Rejected
 * `too_many_payment_methods`.
 */
export function keepAnswer(tx: Tx, at: UserAtGateway, answer: SavedAnswer, options?: Keeping): Promise<Kept>;
export function keepAnswer(tx: Tx, at: UserAtGateway, answer: SavedAnswer | PageAnswer): Promise<Partial<Kept>>;
export async function keepAnswer(
  tx: Tx,
  at: UserAtGateway,
  answer: SavedAnswer | PageAnswer,
  options?: Keeping,
): Promise<Partial<Kept>> {
  const isNewUser = await keepUser(tx, at, answer.gatewayUserId);
  if (answer.is === 'page') return { isNew: isNewUser };
  const { method, isNew } = await keepMethod(tx, at, answer.method, options);
  return { method, isNew: isNewUser || isNew };
}

interface Kept {
  method: PaymentMethodRow;
  isNew: boolean;
}

/** `asDefault`: the method is the one that the gateway charges from now on; otherwise only a user's first one is. */
interface Keeping {
  asDefault: boolean;
}

/**
 * Keeps a payment method that the gateway has saved. A method that is there already is returned. The caller writes the
 * log entry if it is new. Throws Rejected `too_many_payment_methods`.
 */
export async function keepMethod(
  tx: Tx,
  at: UserAtGateway,
  saved: SavedMethod,
  { asDefault }: Keeping = { asDefault: false },
): Promise<Kept> {
  const held = await heldBy(tx, at);
  const known = held.find(({ gatewayMethodId }) => gatewayMethodId === saved.gatewayMethodId);
  if (known) {
    if (asDefault && !known.isDefault) await preferTo(tx, held, known);
    return { method: known, isNew: false };
  }
  const method = newMethod(tx, at, saved, held);
  if (asDefault) await preferTo(tx, held, method);
  else insertMethod(tx, method);
  return { method, isNew: true };
}

/**
 * Keeps methods of a user that the gateway has saved, each once; the first of a user is the default one. Returns their
 * ids by those of the gateway. Throws Rejected `too_many_payment_methods`.
 */
export async function keepMethods(
  tx: Tx,
  at: UserAtGateway,
  { gatewayUserId, methods }: { gatewayUserId: string; methods: readonly SavedMethod[] },
): Promise<ReadonlyMap<string, string>> {
  await keepUser(tx, at, gatewayUserId);
  const held = await heldBy(tx, at);
  const ids = new Map(held.map(({ gatewayMethodId, methodId }) => [gatewayMethodId, methodId]));
  for (const saved of methods) {
    if (ids.has(saved.gatewayMethodId)) continue;
    const method = newMethod(tx, at, saved, held);
    insertMethod(tx, method);
    held.push(method);
    ids.set(saved.gatewayMethodId, method.methodId);
  }
  return ids;
}

/** Keeps the gateway's own id of a user; false where it was there. */
async function keepUser(tx: Tx, at: UserAtGateway, gatewayUserId: string): Promise<boolean> {
  tx.onConflict('gateway_users_pkey', 'again');
  if (await tx.lockIfAny(gatewayUsers, { ...at })) return false;
  tx.save(gatewayUsers, { merchantId: tx.merchantId, ...at, gatewayUserId });
  return true;
}

/** The methods that a user has at a gateway; a write beside this one is tried again. */
function heldBy(tx: Tx, { gatewayId, userId }: UserAtGateway): Promise<PaymentMethodRow[]> {
  tx.onConflict('payment_methods_once', 'again');
  tx.onConflict('payment_methods_one_default', 'again');
  return tx.parts(paymentMethods, { gatewayId, userId }, 'order by method_id');
}

function newMethod(
  tx: Tx,
  { gatewayId, userId }: UserAtGateway,
  { gatewayMethodId, type, data }: SavedMethod,
  held: readonly PaymentMethodRow[],
): PaymentMethodRow {
  if (held.length >= methodsPerUser) throw new Rejected('too_many_payment_methods');
  const methodId = tx.newId('pm_');
  const of = { merchantId: tx.merchantId, methodId, gatewayId, userId };
  return { ...of, type, data, gatewayMethodId, isDefault: held.length === 0, createTime: tx.now };
}

function insertMethod(tx: Tx, method: PaymentMethodRow): void {
  tx.save(paymentMethods, method);
  announceMethod(tx, method);
}

const methodView = ({ methodId: id, type, isDefault, data }: PaymentMethodRow): PaymentMethod => ({
  id,
  type,
  isDefault,
  data,
});

/** All saved methods of a user, newest first. */
export async function methodsOfUser(reader: Reader, userId: number) {
  const rows = await reader.all(paymentMethods, { userId }, 'order by create_time desc, method_id desc');
  return rows.map(row => ({ gatewayId: row.gatewayId, ...methodView(row) }));
}

/**
 * Makes a saved method the one that its gateway charges; false where it is already. Throws Rejected
 * `payment_method_not_found`. The caller writes the log entry.
 */
export async function makeDefault(
  tx: Tx,
  { gatewayId, userId, methodId }: Pick<PaymentMethodRow, 'gatewayId' | 'userId' | 'methodId'>,
): Promise<boolean> {
  const held = await heldBy(tx, { gatewayId, userId });
  const chosen = held.find(method => method.methodId === methodId);
  if (!chosen) throw new Rejected('payment_method_not_found');
  if (chosen.isDefault) return false;
  await preferTo(tx, held, chosen);
  return true;
}

/**
 * Makes the method that a user's profile names since now the default one of its gateway. One that is not saved there is
 * passed over, and so is what a profile named all along: the user may have chosen another since.
 */
export async function preferNamed(tx: Tx, changed: readonly Customer[]): Promise<void> {
  for (const { id: userId, version, data } of changed) {
    const { paymentMethod: methodId } = data;
    const before = methodId === '' ? undefined : await findUser(tx, { userId });
    if (!before || before.version >= version || before.data.paymentMethod === methodId) continue;
    const method = await tx.find(paymentMethods, { methodId, userId });
    if (method) await makeDefault(tx, method);
  }
}

/** Saves the method as the default in place of that among the others, and has it tried; all are locked. */
async function preferTo(tx: Tx, others: readonly PaymentMethodRow[], chosen: PaymentMethodRow): Promise<void> {
  const before = others.find(({ isDefault }) => isDefault);
  // the unique index is checked per row: the old default goes before the new one comes
  if (before) await tx.saveNow(paymentMethods, { ...before, isDefault: false });
  tx.save(paymentMethods, { ...chosen, isDefault: true });
  announceMethod(tx, chosen);
}
