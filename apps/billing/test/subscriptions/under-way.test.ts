import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  addTrialTime,
  cancelAtPeriodEnd,
  cancelInvoice,
  cancelPayment,
  cancelSubscription,
  capturePayment,
  changeDueDay,
  clearInvoicePayment,
  createSubscription,
  deletePaymentMethod,
  newPayment,
  newPaymentMethod,
  planType,
  portalChangeDueDay,
  portalCreatePreview,
  portalCreateSubmit,
  portalInvoicePay,
  portalPendingUpdateCancel,
  portalUpdatePreview,
  portalUpdateSubmit,
  previewChange,
  refundInvoice,
  renewSubscription,
  type Subscription,
  submitChange,
  subscriptionStatus,
} from '@recur/contracts';
import { ChargeSettlement } from '../../src/collection/settlement.js';
import { Sandbox } from '../../src/gateways/adapters/sandbox.js';
import { visitor } from '../world/shop.js';
import { type World, world } from '../world/subscriptions.js';

const hour = 3_600;
const day = 24 * hour;

/**
 * States of a payment whose money may be taken, or may be taken once somebody acts, and how a card gets it there. A claimed
 * one belongs to a worker that was killed before it sent the charge.
 */
const states = {
  claimed: 'succeeds',
  sent: 'times_out_after_charging',
  'needs action': 'needs_action',
  authorised: 'needs_action',
  'being captured': 'needs_action',
} as const;
type State = keyof typeof states;

let w: World;
let gatewayId = 0;
let sandbox: Sandbox;
beforeAll(async () => {
  w = await world();
  ({ gatewayId } = await w.sandbox());
  sandbox = w.t.app.get(Sandbox);
  w.knowPlan(30, { intervalUnit: 'month', intervalCount: 1, amount: 1000, type: planType.main });
});
afterAll(() => w.t.close());

/** A user whose only card has the outcome of a scenario. */
async function withCard(userId: number, scenario: string): Promise<void> {
  const { method } = await w.t.done(newPaymentMethod, { gatewayId, userId, data: { scenario } });
  const others = await w.t.rows('select method_id from payment_methods where user_id = $1 and method_id <> $2', [
    userId,
    method?.id,
  ]);
  for (const { method_id } of others) {
    await w.t.done(deletePaymentMethod, { gatewayId, userId, paymentMethodId: String(method_id) });
  }
}

/** A subscription with a payment in one of the states; `invoiceId` is the invoice that it is to pay. */
interface Case {
  sub: Subscription;
  userId: number;
  invoiceId: string;
  paymentId: string;
  /** A subscription of the user that has ended before. */
  endedId?: string;
}

const account = () => ({ merchantId: 15, gatewayId, key: '', secret: '', webhookSecret: '' });

async function openPayment({ invoiceId }: { invoiceId: string }) {
  const [row] = await w.t.rows(
    `select p.payment_id, p.attempt, p.gateway_payment_id from payments p join invoices i using (merchant_id, payment_id)
     where i.invoice_id = $1`,
    [invoiceId],
  );
  const { payment_id: paymentId, attempt, gateway_payment_id: reference } = row ?? {};
  return { paymentId: String(paymentId ?? ''), attempt: Number(attempt ?? 0), reference: String(reference ?? '') };
}

/** Brings the payments of open invoices, whose attempt is due and not made yet, into a state. */
async function bring(state: State, cases: readonly { invoiceId: string }[]): Promise<void> {
  if (state === 'claimed') {
    const ids = cases.map(({ invoiceId }) => invoiceId);
    await w.t.rows(
      `update payments set outcome = 'sending', attempt = 1, sent_time = $2 where status = 'created' and invoice_id = any($1)`,
      [ids, w.clock.now()],
    );
    return;
  }
  await w.drain();
  if (state === 'sent' || state === 'needs action') return;
  for (const one of cases) {
    const { paymentId, attempt, reference } = await openPayment(one);
    await w.t.rows(`update sandbox_charges set state = 'authorised' where reference = $1`, [reference]);
    await w.t.db.write(w.t.callerOf(), async tx => {
      const outcome = { is: 'authorised', reference, amount: 1n, currency: 'EUR' } as const;
      await w.t.app.get(ChargeSettlement).report(tx, { paymentId, attempt, gatewayId, by: 'answer', outcome });
      return {};
    });
    if (state === 'being captured') await w.t.done(capturePayment, { paymentId, externalCaptureId: paymentId });
  }
}

/** Lets the outcomes come: gateways tell what became of what was sent, and users approve what waits for them still. */
async function settle(cases: readonly Case[]): Promise<void> {
  await w.drain();
  for (const one of cases) {
    const { reference } = await openPayment(one);
    if (reference !== '') await sandbox.answer(account(), reference, true);
  }
  for (let at = 0; at < 6; at++) {
    await w.drain();
    w.clock.advance(20 * 60);
  }
  await w.drain();
}

/** Faults of a user's money: what the gateway took is what paid invoices cost, and each thing is paid once. */
async function faultsOf(userId: number): Promise<string[]> {
  const [sums] = await w.t.rows(
    `select (select coalesce(sum(c.amount), 0) from sandbox_charges c join payments p on c.idempotency_key like p.payment_id || '-%'
       where p.user_id = $1 and c.state = 'succeeded' and c.kind = 'charge')::integer as taken,
     (select coalesce(sum(p.payment_amount), 0) from payments p join invoices i using (merchant_id, payment_id)
       where p.user_id = $1 and p.status = 'success' and i.status = 'paid')::integer as due`,
    [userId],
  );
  const twice = await w.t.rows(
    `select subscription_id, period_start from invoices where user_id = $1 and kind = 'invoice' and status = 'paid' and period_kind <> ''
     group by subscription_id, period_start having count(*) > 1`,
    [userId],
  );
  return [
    ...(sums?.taken === sums?.due ? [] : [`took ${sums?.taken} for ${sums?.due}`]),
    ...twice.map(row => `period ${row.period_start} was paid twice`),
  ];
}

type Operation = (of: Case) => Promise<{ ok: boolean; slug?: string }>;
const operations = {
  'subscription/cancel': ({ sub: { subscriptionId } }) => w.t.call(cancelSubscription, { subscriptionId }),
  add_new_trial_start: ({ sub: { subscriptionId } }) =>
    w.t.call(addTrialTime, { subscriptionId, appendTrialEndHour: 24 }),
  'invoice/cancel': ({ invoiceId }) => w.t.call(cancelInvoice, { invoiceId }),
  'invoice/clear_payment': ({ invoiceId }) => w.t.call(clearInvoicePayment, { invoiceId }),
  'payment/cancel': ({ paymentId }) => w.t.call(cancelPayment, { paymentId }),
  'payment/new': ({ invoiceId }) => w.t.call(newPayment, { invoiceId, gatewayId }),
  'portal: pay': ({ invoiceId, userId }) => w.t.call(portalInvoicePay, { invoiceId, gatewayId }, visitor(userId)),
} satisfies Record<string, Operation>;

/** Purposes of a payment: how subscriptions get there, and what may be called then. */
interface Situation {
  begin(state: State): Promise<Case>;
  /** Brings subscriptions to the moment at which the payment is due, and names its invoice. */
  drive?(cases: readonly Case[], state: State): Promise<Case[]>;
  calls: Record<string, Operation>;
  /** Answers that differ from those of the state. */
  unlike?(state: State): Record<string, string>;
}

/**
 * Calls each operation on a case of its own, and lets all outcomes come; returns what was answered and every fault of
 * money. What was due before is dropped, so that the cases of a state are alone.
 */
async function table(state: State, { begin, drive = async cases => [...cases], calls }: Situation) {
  await w.t.rows('delete from due_work');
  const names = Object.keys(calls);
  const begun: Case[] = [];
  for (const _ of names) begun.push(await begin(state));
  const driven = await drive(begun, state);
  await bring(state, driven);
  const cases = await Promise.all(driven.map(async one => ({ ...one, ...(await openPayment(one)) })));
  const answers: Record<string, string> = {};
  for (const [at, name] of names.entries()) {
    const one = cases[at];
    const answer = one && (await calls[name]?.(one));
    answers[name] = answer?.ok ? 'done' : (answer?.slug ?? '');
  }
  await settle(cases);
  const faults: string[] = [];
  for (const [at, { userId }] of cases.entries()) {
    faults.push(...(await faultsOf(userId)).map(fault => `${names[at]}: ${fault}`));
  }
  return { answers, faults };
}

/** The answers of each state to operations that end or replace what the payment pays for. */
const usual: Record<State, string> = {
  claimed: 'payment_under_way',
  sent: 'payment_under_way',
  'being captured': 'payment_under_way',
  'needs action': 'done',
  authorised: 'done',
};

/** Asking for one more payment of the same invoice never makes one. A user may go on with what waits for them. */
const another = (state: State) => ({
  'payment/new': 'payment_exists',
  'portal: pay': state === 'needs action' ? 'done' : 'payment_exists',
});

const first: Situation = {
  async begin(state) {
    const userId = w.newUser();
    const { subscriptionId: endedId } = (await w.create({ userId })).subscription;
    await w.t.done(cancelSubscription, { subscriptionId: endedId });
    await withCard(userId, states[state]);
    const { subscription: sub, invoiceId, paymentId } = await w.create({ userId, gatewayId });
    return { sub, userId, invoiceId, paymentId, endedId };
  },
  calls: {
    ...operations,
    'create_submit, the same': async ({ userId, sub }) => {
      const again = await w.t.call(createSubscription, { planId: 10, userId, gatewayId });
      if (again.ok) expect(again.data.subscription.subscriptionId).toBe(sub.subscriptionId);
      return again;
    },
    'create_submit, another': ({ userId }) =>
      w.t.call(createSubscription, { planId: 10, userId, gatewayId, quantity: 2 }),
    'portal: create_submit, another': async ({ userId }) => {
      const order = { planId: 10, gatewayId, quantity: 3 };
      const { totalAmount } = await w.t.done(portalCreatePreview, order, visitor(userId));
      return w.t.call(portalCreateSubmit, { ...order, confirmTotalAmount: totalAmount }, visitor(userId));
    },
    renew: ({ endedId = '' }) => w.t.call(renewSubscription, { subscriptionId: endedId }),
  },
  // what is known to be under way has made the subscription processing, which is live
  unlike(state): Record<string, string> {
    const live = 'subscription_exists';
    if (state === 'claimed') return { add_new_trial_start: 'done', 'create_submit, the same': 'done' };
    const names = Object.keys(first.calls).filter(name => /create_submit|renew/.test(name));
    return state === 'needs action' ? {} : Object.fromEntries(names.map(name => [name, live]));
  },
};

/** An active subscription of a user whose card has since been replaced by one of the state. */
async function active(state: State): Promise<Case> {
  const userId = w.newUser();
  await withCard(userId, 'succeeds');
  const { subscription, invoiceId } = await w.create({ userId, gatewayId });
  await w.drain();
  await withCard(userId, states[state]);
  const { subscription: sub } = await w.shown(subscription.subscriptionId);
  return { sub, userId, invoiceId, paymentId: '' };
}

const upgrade = { newPlanId: 20, quantity: 1 };
const change: Situation = {
  begin: active,
  async drive(cases) {
    await w.drain();
    w.clock.advance(10 * day);
    const driven: Case[] = [];
    for (const one of cases) {
      const { subscriptionId } = one.sub;
      driven.push({ ...one, ...(await w.t.done(submitChange, { subscriptionId, ...upgrade })) });
    }
    return driven;
  },
  calls: {
    ...operations,
    'update_submit, the same': async ({ sub: { subscriptionId }, invoiceId }) => {
      const again = await w.t.call(submitChange, { subscriptionId, ...upgrade });
      if (again.ok) expect(again.data.invoiceId).toBe(invoiceId);
      return again;
    },
    'update_submit, another': ({ sub: { subscriptionId } }) =>
      w.t.call(submitChange, { subscriptionId, ...upgrade, quantity: 2 }),
    'update_preview, another': ({ sub: { subscriptionId } }) =>
      w.t.call(previewChange, { subscriptionId, ...upgrade, quantity: 4 }),
    'portal: update_submit, another': async ({ sub: { subscriptionId }, userId }) => {
      const order = { subscriptionId, ...upgrade, quantity: 3 };
      const preview = await w.t.call(portalUpdatePreview, order, visitor(userId));
      const confirmTotalAmount = preview.ok ? preview.data.totalAmount : 0;
      const submit = await w.t.call(portalUpdateSubmit, { ...order, confirmTotalAmount }, visitor(userId));
      expect([preview.ok, !preview.ok && preview.slug]).toEqual([submit.ok, !submit.ok && submit.slug]);
      return submit;
    },
    'portal: the change is taken back': ({ sub: { subscriptionId }, userId }) =>
      w.t.call(portalPendingUpdateCancel, { subscriptionId }, visitor(userId)),
  },
  // the next period is far away, and the same submit has the same answer
  unlike: () => ({ add_new_trial_start: 'done', 'update_submit, the same': 'done' }),
};

const next: Situation = {
  begin: active,
  async drive(cases) {
    const end = cases[0]?.sub.currentPeriodEnd ?? 0;
    w.clock.advance(end - 3 * day - w.clock.now());
    await w.drain();
    w.clock.advance(end - 2 * hour - w.clock.now());
    return Promise.all(
      cases.map(async one => {
        const [row] = await w.t.rows(
          `select invoice_id from invoices where subscription_id = $1 and status = 'processing'`,
          [one.sub.subscriptionId],
        );
        return { ...one, invoiceId: String(row?.invoice_id) };
      }),
    );
  },
  calls: {
    ...operations,
    change_due_day: ({ sub: { subscriptionId } }) => w.t.call(changeDueDay, { subscriptionId, dueDay: 20 }),
    'portal: change_due_day': ({ sub: { subscriptionId }, userId }) =>
      w.t.call(portalChangeDueDay, { subscriptionId, dueDay: 20 }, visitor(userId)),
    'update_submit, now': ({ sub: { subscriptionId } }) => w.t.call(submitChange, { subscriptionId, ...upgrade }),
    cancel_at_period_end: ({ sub: { subscriptionId } }) =>
      w.t.call(cancelAtPeriodEnd, { subscriptionId, userId: 0, productId: 0 }),
    'invoice/refund with the end of the subscription': ({ sub }) =>
      w.t.call(refundInvoice, {
        invoiceId: sub.latestInvoiceId,
        refundAmount: 100,
        reason: 'no',
        cancelSubscription: true,
      }),
  },
  // nothing ends before the period does
  unlike: () => ({ cancel_at_period_end: 'done' }),
};

/** An open invoice of a period that has begun: a card of the state was saved after the one before it had been declined. */
const dunning: Situation = {
  begin: () => active('claimed'),
  async drive(cases, state) {
    const end = cases[0]?.sub.currentPeriodEnd ?? 0;
    for (const { userId } of cases) await withCard(userId, 'declines_softly');
    for (const at of [end - 3 * day, end - 2 * hour, end, end + hour]) {
      w.clock.advance(at - w.clock.now());
      await w.drain();
    }
    const driven: Case[] = [];
    for (const one of cases) {
      const { subscription: sub } = await w.shown(one.sub.subscriptionId);
      expect(sub.status).toBe(subscriptionStatus.incomplete);
      // a claim makes the payment of another attempt, and its charge never reaches the gateway
      await withCard(one.userId, state === 'claimed' ? 'times_out_before_charging' : states[state]);
      const { latestInvoiceId: invoiceId } = sub;
      driven.push({ ...one, sub: { ...sub, latestInvoiceId: one.invoiceId }, invoiceId });
    }
    if (state === 'claimed') await w.drain();
    return driven;
  },
  calls: next.calls,
  // the period has begun: its day cannot be moved, and its end is far away
  unlike: () => ({
    cancel_at_period_end: 'done',
    change_due_day: 'subscription_wrong_state',
    'portal: change_due_day': 'subscription_wrong_state',
  }),
};

describe.each(Object.entries({ 'a first purchase': first, 'a change': change, 'the next period': next, dunning }))(
  '%s whose payment is',
  (_, situation) => {
    it.each(Object.keys(states) as State[])('%s', async state => {
      const answers = Object.fromEntries(Object.keys(situation.calls).map(name => [name, usual[state]]));
      expect(await table(state, situation)).toEqual({
        answers: { ...answers, ...another(state), ...situation.unlike?.(state) },
        faults: [],
      });
    });
  },
);

describe('in the last hours of a period', () => {
  const change = expect.stringMatching(/^\d paid$/);
  const voided = expect.stringMatching(/^-.* paid$/);
  const to = async (at: number) => {
    w.clock.advance(at - w.clock.now());
    await w.drain();
  };
  const invoicesOf = async ({ userId }: Case) =>
    (
      await w.t.rows('select status, total_amount::integer as total from invoices where user_id = $1 order by id', [
        userId,
      ])
    ).map(({ status, total }) => `${total} ${status}`);

  /**
   * An active subscription two hours before the end of its period, whose next invoice was just sent to a gateway that tells
   * the outcome ten minutes after that end.
   */
  async function sentLate(prepare: (sub: Subscription) => Promise<unknown> = async () => undefined): Promise<Case> {
    await w.t.rows('delete from due_work');
    const one = await active('sent');
    const { currentPeriodEnd: end } = one.sub;
    await to(end - 3 * day);
    await prepare(one.sub);
    await to(end - 2 * hour);
    await w.t.rows(`update sandbox_charges set tell_time = $1 where create_time = $2`, [end + 600, w.clock.now()]);
    return one;
  }

  it('an end of the subscription waits for the outcome, and credits the period that was paid', async () => {
    const one = await sentLate();
    const { subscriptionId, currentPeriodEnd: end } = one.sub;
    await w.t.done(cancelAtPeriodEnd, { subscriptionId, userId: 0, productId: 0 });
    await to(end);
    expect([await w.statusOf(subscriptionId), await invoicesOf(one)]).toEqual([
      subscriptionStatus.active,
      ['3000 paid', '3000 processing'],
    ]);
    for (let at = 1; at <= 6; at++) await to(end + at * 20 * 60);
    expect([await w.statusOf(subscriptionId), await invoicesOf(one)]).toEqual([
      subscriptionStatus.cancelled,
      ['3000 paid', '3000 paid', '-3000 paid'],
    ]);
    expect(await faultsOf(one.userId)).toEqual([]);
  });

  it('a deferred change waits for the outcome, and charges the period anew', async () => {
    const one = await sentLate(({ subscriptionId }) =>
      w.t.done(submitChange, { subscriptionId, newPlanId: 30, quantity: 1 }),
    );
    const { subscriptionId, currentPeriodEnd: end } = one.sub;
    await to(end);
    expect(await invoicesOf(one)).toEqual(['3000 paid', '3000 processing']);
    for (let at = 1; at <= 6; at++) await to(end + at * 20 * 60);
    expect(await invoicesOf(one)).toEqual(['3000 paid', '3000 paid', '-2000 paid']);
    expect((await w.shown(subscriptionId)).subscription).toMatchObject({ planId: 30, currentPeriodStart: end });
    expect(await faultsOf(one.userId)).toEqual([]);
  });

  /** A change that waits for its user since ten minutes before the next invoice is charged. */
  async function changing() {
    await w.t.rows('delete from due_work');
    const one = await active('needs action');
    const { subscriptionId, currentPeriodEnd: end } = one.sub;
    await to(end - 3 * day);
    await to(end - 2 * hour - 600);
    const { invoiceId } = await w.t.done(submitChange, { subscriptionId, ...upgrade });
    await w.drain();
    await withCard(one.userId, 'succeeds');
    await to(end - 2 * hour);
    expect(await invoicesOf(one)).toEqual(['3000 paid', '3000 processing', expect.stringMatching(/ processing$/)]);
    return { ...one, invoiceId, end };
  }

  it('the next invoice is not charged while a change waits for its payment, which replaces it', async () => {
    const one = await changing();
    const { reference } = await openPayment(one);
    await sandbox.answer(account(), reference, true);
    await w.drain();
    await to(one.end);
    expect(await invoicesOf(one)).toEqual(['3000 paid', '3000 cancelled', change, '-3000 paid', '6000 paid']);
    expect(await faultsOf(one.userId)).toEqual([]);
  });

  it('and is charged once the change has lapsed', async () => {
    const one = await changing();
    await to(one.end - hour - 600);
    await to(one.end - hour);
    expect(await invoicesOf(one)).toEqual(['3000 paid', '3000 paid', expect.stringMatching(/ cancelled$/), voided]);
    expect(await faultsOf(one.userId)).toEqual([]);
  });
});
