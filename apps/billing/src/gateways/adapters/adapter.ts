/** The merchant's account at a gateway, its secrets in clear. */
export interface GatewayAccount {
  merchantId: number;
  gatewayId: number;
  key: string;
  secret: string;
  webhookSecret: string;
}

/** A charge. Sent again under the same key, it charges once. */
export interface ChargeRequest {
  /** Payment id and attempt: `pay_…-1`. */
  idempotencyKey: string;
  paymentId: string;
  amount: bigint;
  /** ISO 4217; the amount is in its minor unit. */
  currency: string;
  /** The user, and the payment method, as the gateway knows them. */
  gatewayUserId: string;
  gatewayMethodId: string;
  /** The user is absent, so that a question to them is a decline. */
  offSession: boolean;
  /** Where the user returns after answering the gateway's question. */
  returnUrl: string;
  /** Only reserve the amount, for `capture`. */
  manualCapture: boolean;
}

/** A charge that was sent earlier. */
export interface ChargeRef {
  idempotencyKey: string;
  /** The gateway's own id of the charge; '' where its answer never came. */
  reference: string;
  gatewayUserId: string;
  /** Unix second of the sending. */
  sentAt: number;
}

export interface RefundRequest {
  idempotencyKey: string;
  refundId: string;
  /** The charge's reference. */
  reference: string;
  amount: bigint;
  currency: string;
}

/**
 * The outcome of a call. `reference` is the gateway's own id. Success and authorisation state the money: what was received,
 * refunded or reserved, in minor units of `currency` (ISO 4217, upper case).
 */
export type GatewayOutcome =
  | { is: 'succeeded'; reference: string; amount: bigint; currency: string }
  | { is: 'authorised'; reference: string; amount: bigint; currency: string }
  /** Soft: may succeed later. Hard: this method never will (lost, stolen, closed). */
  | { is: 'declined'; kind: 'soft' | 'hard'; reason: string; reference: string }
  | { is: 'needsAction'; link: string; reference: string }
  | { is: 'cancelled'; reference: string }
  /** Not known yet: ask `status`, or wait for a callback. */
  | { is: 'unknown'; reference: string };

/** `absent`: the gateway has never seen the charge. */
export type GatewayStatus = GatewayOutcome | { is: 'absent' };

/** A report that a gateway sends by itself. Reports repeat, are late and out of order: `id` names the report. */
export type GatewayEvent =
  | { about: 'charge'; id: string; at: number; idempotencyKey: string; outcome: GatewayOutcome }
  | { about: 'refund'; id: string; at: number; idempotencyKey: string; outcome: GatewayOutcome }
  | DisputeEvent
  | { about: 'method'; id: string; at: number; gatewayUserId: string; method: SavedMethod };

/**
 * A rightly signed report that cannot be read: of a shape that the gateway does not document, or about something
 * that it does not have. To receive it again would change nothing.
 */
export class UnreadableReport extends Error {
  override readonly name = 'UnreadableReport';

  /** `id` and `type` of the report, '' where it has none. */
  constructor(
    readonly id: string,
    readonly type: string,
    cause: unknown,
  ) {
    super('the report cannot be read', { cause });
  }
}

/** A chargeback of a charge; the amount is in minor units of `currency`. */
export interface DisputeEvent {
  about: 'dispute';
  id: string;
  at: number;
  /** The charge's reference. */
  reference: string;
  amount: bigint;
  currency: string;
  state: 'open' | 'won' | 'lost';
}

/** A payment method as the gateway keeps it. */
export interface SavedMethod {
  gatewayMethodId: string;
  type: string;
  /** Fit to be shown: brand, last4, expiry. */
  data: Record<string, unknown>;
}

export interface MethodRequest {
  idempotencyKey: string;
  userId: number;
  email: string;
  /** '' for a user whom the gateway does not know yet. */
  gatewayUserId: string;
  /** Depends on the gateway. */
  data: Record<string, unknown>;
}

/** The saved method, or the page on which the user enters it. */
export type MethodAnswer =
  | { is: 'saved'; gatewayUserId: string; method: SavedMethod }
  | { is: 'page'; gatewayUserId: string; url: string }
  | { is: 'refused'; reason: string };

/**
 * A gateway that charges by itself. Calls go over the network: never inside a transaction. A call whose answer does not
 * come resolves to `unknown`; what is thrown is a bug.
 */
export interface GatewayAdapter {
  readonly name: string;
  charge(account: GatewayAccount, request: ChargeRequest): Promise<GatewayOutcome>;
  /** The outcome of a charge whose answer was lost. */
  status(account: GatewayAccount, charge: ChargeRef): Promise<GatewayStatus>;
  /** Collects an authorised amount, or less. */
  capture(account: GatewayAccount, request: Omit<RefundRequest, 'refundId'>): Promise<GatewayOutcome>;
  /** Ends a charge that is not collected. */
  cancel(account: GatewayAccount, reference: string): Promise<GatewayOutcome>;
  refund(account: GatewayAccount, request: RefundRequest): Promise<GatewayOutcome>;
  /** The outcome of a refund whose answer was lost or not final; `refundReference` is '' where it never came. */
  refundStatus(account: GatewayAccount, request: RefundRequest, refundReference: string): Promise<GatewayStatus>;
  saveMethod(account: GatewayAccount, request: MethodRequest): Promise<MethodAnswer>;
  deleteMethod(account: GatewayAccount, gatewayMethodId: string): Promise<void>;
  /**
   * The events in a callback; none for one that is of no interest. Undefined: its signature is wrong. Throws
   * UnreadableReport, or Rejected `dependency_away` where the gateway had to be asked and did not answer.
   */
  callback(
    account: GatewayAccount,
    headers: Readonly<Record<string, string>>,
    body: Uint8Array,
    now: number,
  ): Promise<GatewayEvent[] | undefined>;
}
