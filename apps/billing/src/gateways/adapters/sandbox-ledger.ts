import { int, integer, money, table, text } from '@recur/platform';

/** The outcome of a charge or refund at the sandbox gateway; a lost charge is one that it never received. */
export type SandboxState = 'lost' | 'succeeded' | 'soft' | 'hard' | 'needsAction' | 'authorised' | 'cancelled';

/** A charge or refund that the sandbox gateway has made. */
export interface SandboxCharge {
  merchantId: number;
  idempotencyKey: string;
  kind: 'charge' | 'refund';
  reference: string;
  /** A refund's charge; a lost charge's payment; else ''. */
  chargeReference: string;
  amount: bigint;
  currency: string;
  state: SandboxState;
  /** Before this unix second the sandbox does not tell the outcome. */
  tellTime: number;
  createTime: number;
}

/** A callback that the sandbox gateway is going to send. */
export interface SandboxCallback {
  merchantId: number;
  id: number;
  gatewayId: number;
  dueTime: number;
  /** JSON, as it is sent. */
  body: string;
  sent: number;
}

export const sandboxCharges = table<SandboxCharge>('sandbox_charges', {
  key: ['merchantId', 'idempotencyKey'],
  columns: {
    merchantId: integer(),
    idempotencyKey: text(),
    kind: text<'charge' | 'refund'>(),
    reference: text(),
    chargeReference: text(),
    amount: money(),
    currency: text(),
    state: text<SandboxState>(),
    tellTime: integer(),
    createTime: integer(),
  },
  indices: {
    sandbox_charges_reference: { on: ['merchantId', 'reference'], unique: true },
    sandbox_charges_refunds: { on: ['merchantId', 'chargeReference'], where: "kind = 'refund'" },
  },
});

export const sandboxCallbacks = table<SandboxCallback>('sandbox_callbacks', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    gatewayId: integer(),
    dueTime: integer(),
    body: text(),
    sent: int(),
  },
  indices: { sandbox_callbacks_due: { on: ['merchantId', 'gatewayId', 'dueTime', 'id'], where: 'sent = 0' } },
});

/** A callback of the sandbox, ready to be delivered. */
export interface SandboxDelivery {
  id: number;
  headers: Record<string, string>;
  body: Uint8Array;
}

/** JSON in which amounts are strings of digits. */
export const encode = (value: object): string =>
  JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? String(one) : one));
export const decode = <T>(json: string): T =>
  JSON.parse(json, (name, value) => (name === 'amount' ? BigInt(value) : value));

/** The effects of charging a test payment method. Times are in seconds after the charge. */
export interface Scenario {
  state: SandboxState;
  /** The charge's answer is lost, before or after it is made. */
  timesOut?: 'before' | 'after';
  /** How long the sandbox keeps the outcome to itself. */
  tellAfterSeconds?: number;
  /** The callbacks: what they report, and when. A number is the report's id: the same one twice is a repeat. */
  callbacks: readonly ScenarioCallback[];
}

export interface ScenarioCallback {
  report: number;
  afterSeconds: number;
  says: 'outcome' | 'pending' | 'disputeOpen' | 'disputeWon' | 'disputeLost';
}

const hour = 3_600;
const day = 24 * hour;
const once: ScenarioCallback = { report: 1, afterSeconds: 0, says: 'outcome' };
const disputeCallbacks = (end: 'disputeWon' | 'disputeLost'): readonly ScenarioCallback[] => [
  once,
  { report: 2, afterSeconds: day, says: 'disputeOpen' },
  { report: 3, afterSeconds: 8 * day, says: end },
];

/** The test payment methods of the sandbox gateway, by name. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  succeeds: { state: 'succeeded', callbacks: [once] },
  declines_softly: { state: 'soft', callbacks: [once] },
  declines_hard: { state: 'hard', callbacks: [once] },
  needs_action: { state: 'needsAction', callbacks: [] },
  times_out_after_charging: { state: 'succeeded', timesOut: 'after', callbacks: [] },
  times_out_before_charging: { state: 'succeeded', timesOut: 'before', callbacks: [] },
  calls_back_twice: { state: 'succeeded', callbacks: [once, once] },
  calls_back_late: {
    state: 'succeeded',
    tellAfterSeconds: hour,
    callbacks: [{ report: 1, afterSeconds: hour, says: 'outcome' }],
  },
  calls_back_out_of_order: {
    state: 'succeeded',
    callbacks: [
      { report: 2, afterSeconds: 0, says: 'outcome' },
      { report: 1, afterSeconds: 0, says: 'pending' },
    ],
  },
  disputed_and_won: { state: 'succeeded', callbacks: disputeCallbacks('disputeWon') },
  disputed_and_lost: { state: 'succeeded', callbacks: disputeCallbacks('disputeLost') },
};

/** The scenario of a payment method; a method of an unknown one declines for good. */
export const scenarioOf = (name: string): Scenario =>
  (Object.hasOwn(scenarios, name) ? scenarios[name] : undefined) ?? { state: 'hard', callbacks: [once] };
