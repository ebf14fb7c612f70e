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
export const written = (value: object): string =>
  JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? String(one) : one));
export const read = <T>(json: string): T =>
  JSON.parse(json, (name, value) => (name === 'amount' ? BigInt(value) : value));
