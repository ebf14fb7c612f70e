import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock, CONFIG, Db, Keyring, patient, systemCaller, type Tx } from '@recur/platform';
import type { Config } from '../../config.js';
import type {
  ChargeRef,
  ChargeRequest,
  GatewayAccount,
  GatewayAdapter,
  GatewayEvent,
  GatewayOutcome,
  GatewayStatus,
  MethodAnswer,
  MethodRequest,
  RefundRequest,
} from './adapter.js';
import {
  decode,
  encode,
  type SandboxCallback,
  type SandboxCharge,
  type SandboxDelivery,
  type SandboxState,
  type ScenarioCallback,
  sandboxCallbacks,
  sandboxCharges,
  scenarioOf,
  scenarios,
} from './sandbox-ledger.js';

const SIGNATURE = 'sandbox-signature';
/** The kind of work that delivers a callback; its key is the callback's id. */
export const SANDBOX_CALLBACK = 'sandbox.callback';

/**
 * A gateway that moves no money: test payment methods have fixed outcomes. Its ledger is a table of its own, written in
 * transactions of its own, as if it were somebody else's.
 */
@Injectable()
export class Sandbox implements GatewayAdapter {
  readonly name = 'sandbox';

  constructor(
    private readonly db: Db,
    private readonly keyring: Keyring,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async charge(account: GatewayAccount, request: ChargeRequest): Promise<GatewayOutcome> {
    const { timesOut, ...scenario } = scenarioOf(request.gatewayMethodId);
    const unknown: GatewayOutcome = { is: 'unknown', reference: '' };
    const { idempotencyKey, paymentId } = request;
    const outcome = await this.write(account, idempotencyKey, async tx => {
      tx.onConflict('sandbox_charges_pkey', 'again');
      const known = await tx.lockIfAny(sandboxCharges, { idempotencyKey });
      if (known && known.state !== 'lost') return this.outcomeOf(account, known, tx.now);
      // the first sending of a payment is lost, the next one goes through
      const lost = await tx.find(sandboxCharges, { chargeReference: paymentId, state: 'lost' });
      const isLost = timesOut === 'before' && !lost;
      const state = isLost
        ? 'lost'
        : request.manualCapture && scenario.state === 'succeeded'
          ? 'authorised'
          : scenario.state;
      const charge: SandboxCharge = {
        merchantId: tx.merchantId,
        idempotencyKey,
        kind: 'charge',
        reference: tx.newId('sbx_'),
        chargeReference: isLost ? paymentId : '',
        amount: request.amount,
        currency: request.currency,
        state,
        tellTime: tx.now + (scenario.tellAfterSeconds ?? 0),
        createTime: tx.now,
      };
      tx.save(sandboxCharges, charge);
      tx.log(logTarget(account), 'SandboxCharge');
      if (isLost) return unknown;
      for (const callback of scenario.callbacks) await this.plan(tx, account, charge, callback);
      return this.outcomeOf(account, charge, tx.now);
    });
    return timesOut === 'after' ? unknown : outcome;
  }

  async status(account: GatewayAccount, { idempotencyKey, reference }: ChargeRef): Promise<GatewayStatus> {
    return this.db.read(this.caller(account), async reader => {
      const charge = await reader.find(sandboxCharges, reference ? { reference } : { idempotencyKey });
      return charge && charge.state !== 'lost' ? this.outcomeOf(account, charge, reader.now) : { is: 'absent' };
    });
  }

  capture(account: GatewayAccount, { reference, amount }: Omit<RefundRequest, 'refundId'>): Promise<GatewayOutcome> {
    return this.move(account, reference, charge => {
      if (charge.state !== 'authorised' || amount > charge.amount) return charge;
      return { ...charge, amount, state: 'succeeded' };
    });
  }

  cancel(account: GatewayAccount, reference: string): Promise<GatewayOutcome> {
    return this.move(account, reference, charge =>
      charge.state === 'authorised' || charge.state === 'needsAction' ? { ...charge, state: 'cancelled' } : charge,
    );
  }

  /** The charge that a page of the sandbox asks about; undefined for an unknown one. */
  charged(account: GatewayAccount, reference: string): Promise<SandboxCharge | undefined> {
    return this.db.read(this.caller(account), reader => reader.find(sandboxCharges, { reference, kind: 'charge' }));
  }

  /** The user's answer to the question of `needs_action`. */
  answer(account: GatewayAccount, reference: string, approves: boolean): Promise<GatewayOutcome> {
    return this.move(account, reference, charge =>
      charge.state === 'needsAction' ? { ...charge, state: approves ? 'succeeded' : 'soft' } : charge,
    );
  }

  refund(account: GatewayAccount, request: RefundRequest): Promise<GatewayOutcome> {
    const { idempotencyKey, reference: chargeReference, amount, currency } = request;
    return this.write(account, idempotencyKey, async tx => {
      tx.onConflict('sandbox_charges_pkey', 'again');
      const charge = await tx.lockIfAny(sandboxCharges, { reference: chargeReference, kind: 'charge' });
      const known = await tx.find(sandboxCharges, { idempotencyKey });
      if (known) return this.outcomeOf(account, known, tx.now);
      const refunds = await tx.all(sandboxCharges, { chargeReference, kind: 'refund', state: 'succeeded' });
      const left = refunds.reduce((rest, one) => rest - one.amount, charge?.amount ?? 0n);
      const isCovered = charge?.state === 'succeeded' && amount <= left;
      const refund: SandboxCharge = {
        merchantId: tx.merchantId,
        idempotencyKey,
        kind: 'refund',
        reference: tx.newId('sbr_'),
        chargeReference,
        amount,
        currency,
        state: isCovered ? 'succeeded' : 'hard',
        tellTime: tx.now,
        createTime: tx.now,
      };
      tx.save(sandboxCharges, refund);
      tx.log(logTarget(account), 'SandboxRefund');
      await this.plan(tx, account, refund, { report: 1, afterSeconds: 0, says: 'outcome' });
      return this.outcomeOf(account, refund, tx.now);
    });
  }

  async refundStatus(account: GatewayAccount, { idempotencyKey }: RefundRequest): Promise<GatewayStatus> {
    return this.db.read(this.caller(account), async reader => {
      const refund = await reader.find(sandboxCharges, { idempotencyKey });
      return refund ? this.outcomeOf(account, refund, reader.now) : { is: 'absent' };
    });
  }

  async saveMethod(_: GatewayAccount, { userId, data }: MethodRequest): Promise<MethodAnswer> {
    const scenario = String(data.scenario ?? 'succeeds');
    if (!Object.hasOwn(scenarios, scenario)) {
      return { is: 'refused', reason: `data.scenario must be one of ${Object.keys(scenarios).join(', ')}` };
    }
    const method = { gatewayMethodId: scenario, type: 'card', data: { brand: 'sandbox', last4: '4242', scenario } };
    return { is: 'saved', gatewayUserId: `sandbox_user_${userId}`, method };
  }

  async deleteMethod(): Promise<void> {}

  async callback(
    _: GatewayAccount,
    headers: Readonly<Record<string, string>>,
    body: Uint8Array,
  ): Promise<GatewayEvent[] | undefined> {
    const text = Buffer.from(body).toString();
    if (!this.keyring.hasSigned(SANDBOX_CALLBACK, text, headers[SIGNATURE] ?? '')) return undefined;
    return [decode<GatewayEvent>(text)];
  }

  /** The callbacks that are due, in the order in which they arrive; they stay due until `delivered`. */
  dueCallbacks(account: GatewayAccount): Promise<SandboxDelivery[]> {
    return this.db.read(this.caller(account), async reader => {
      const rows = await reader.all(
        sandboxCallbacks,
        { gatewayId: account.gatewayId, sent: 0 },
        'order by due_time, id limit 100',
      );
      return rows.filter(({ dueTime }) => dueTime <= reader.now).map(row => this.deliveryOf(row));
    });
  }

  delivered(account: GatewayAccount, id: number): Promise<object> {
    return this.write(account, `callback_${id}`, async tx => {
      const callback = await tx.lockIfAny(sandboxCallbacks, { id });
      if (!callback || callback.sent === 1) return {};
      tx.save(sandboxCallbacks, { ...callback, sent: 1 });
      tx.log(logTarget(account), 'SandboxCallback');
      return {};
    });
  }

  /** A planned callback and its gateway; undefined for one that was delivered. */
  planned(merchantId: number, id: number): Promise<{ gatewayId: number; delivery: SandboxDelivery } | undefined> {
    return this.db.read(systemCaller(merchantId, `sandbox_callback_${id}`, this.deadline()), async reader => {
      const callback = await reader.find(sandboxCallbacks, { id, sent: 0 });
      return callback && { gatewayId: callback.gatewayId, delivery: this.deliveryOf(callback) };
    });
  }

  /** Marks a callback as delivered, in the transaction that has taken it. */
  async taken(tx: Tx, id: number): Promise<void> {
    const callback = await tx.lockIfAny(sandboxCallbacks, { id });
    if (callback) tx.save(sandboxCallbacks, { ...callback, sent: 1 });
  }

  private deliveryOf({ id, body }: Pick<SandboxCallback, 'id' | 'body'>): SandboxDelivery {
    return { id, body: Buffer.from(body), headers: { [SIGNATURE]: this.keyring.sign(SANDBOX_CALLBACK, body) } };
  }

  /** Moves a charge under its lock; a move that its state forbids leaves it as it is. */
  private move(
    account: GatewayAccount,
    reference: string,
    step: (charge: SandboxCharge) => SandboxCharge,
  ): Promise<GatewayOutcome> {
    return this.write(account, reference, async tx => {
      const charge = await tx.lockIfAny(sandboxCharges, { reference, kind: 'charge' });
      if (!charge) return { is: 'declined', kind: 'hard', reason: 'no such charge', reference } as GatewayOutcome;
      const moved = step(charge);
      if (moved !== charge) {
        tx.save(sandboxCharges, moved);
        tx.log(logTarget(account), `Sandbox: ${charge.state} -> ${moved.state}`);
        await this.plan(tx, account, moved, { report: 10, afterSeconds: 0, says: 'outcome' });
      }
      return this.outcomeOf(account, moved, tx.now);
    });
  }

  private async plan(tx: Tx, account: GatewayAccount, charge: SandboxCharge, callback: ScenarioCallback) {
    const { gatewayId } = account;
    const dueTime = tx.now + callback.afterSeconds;
    const body = encode(this.eventOf(account, charge, callback, dueTime));
    const id = await tx.nextId(sandboxCallbacks);
    tx.save(sandboxCallbacks, { merchantId: tx.merchantId, id, gatewayId, dueTime, body, sent: 0 });
    tx.schedule(SANDBOX_CALLBACK, String(id), dueTime);
  }

  private eventOf(account: GatewayAccount, charge: SandboxCharge, of: ScenarioCallback, at: number): GatewayEvent {
    const { reference, amount, currency, idempotencyKey, kind: about } = charge;
    const [id, says] = [`${reference}_${of.report}`, of.says];
    if (says === 'outcome')
      return { about, id, at, idempotencyKey, outcome: this.outcomeOf(account, charge, charge.tellTime) };
    if (says === 'pending') return { about, id, at, idempotencyKey, outcome: { is: 'unknown', reference } };
    const state = ({ disputeOpen: 'open', disputeWon: 'won', disputeLost: 'lost' } as const)[says];
    return { about: 'dispute', id, at, reference, amount, currency, state };
  }

  private outcomeOf(
    { gatewayId }: GatewayAccount,
    { state, reference, tellTime, kind, amount, currency }: SandboxCharge,
    now: number,
  ): GatewayOutcome {
    if (now < tellTime) return { is: 'unknown', reference };
    const declined = (how: 'soft' | 'hard', reason: string): GatewayOutcome => ({
      is: 'declined',
      kind: how,
      reason,
      reference,
    });
    const outcomes: Record<SandboxState, GatewayOutcome> = {
      succeeded: { is: 'succeeded', reference, amount, currency },
      authorised: { is: 'authorised', reference, amount, currency },
      cancelled: { is: 'cancelled', reference },
      lost: { is: 'unknown', reference: '' },
      soft: declined('soft', 'insufficient_funds'),
      hard: declined('hard', kind === 'refund' ? 'charge_not_refundable' : 'lost_card'),
      needsAction: { is: 'needsAction', link: this.pageOf(gatewayId, reference), reference },
    };
    return outcomes[state];
  }

  /** The page on which the user answers the gateway's question; the gateway app shows it. */
  private pageOf(gatewayId: number, reference: string): string {
    return `${this.config.BASE_URL}/gateway/${gatewayId}/sandbox/${reference}`;
  }

  private async write<T extends object>(
    account: GatewayAccount,
    what: string,
    run: (tx: Tx) => Promise<T>,
  ): Promise<T> {
    const { json } = await this.db.write(this.caller(account, what), async tx => ({ json: encode(await run(tx)) }));
    return decode<T>(json);
  }

  private caller({ merchantId }: GatewayAccount, what = 'read') {
    return systemCaller(merchantId, `sandbox_${what}`, this.deadline());
  }

  private deadline(): number {
    return this.clock.wall() + patient(5_000);
  }
}

const logTarget = ({ gatewayId }: GatewayAccount) => `Gateway(${gatewayId}-sandbox)`;
