import type { ServicePeriod } from '../../pricing/proration.js';

/** A period that was billed, or is free; `elsewhere` was billed by another system, from which it was imported. */
export type PeriodKind = 'trial' | 'free' | 'cycle' | 'stub' | 'elsewhere';

/**
 * State of a period. `open` awaits the payment of its invoice, `paid` needs none or has it, `unpaid` ended without;
 * `void` was replaced and is no longer part of the subscription's time. The live ones are all but `void`.
 */
export type PeriodState = 'open' | 'paid' | 'unpaid' | 'void';

/** A row of the period table. Rows of one subscription that are not void tile its time. */
export interface Period extends ServicePeriod {
  kind: PeriodKind;
  /** Step of a trial, from 0. */
  step?: number;
}

export interface PeriodRow {
  merchantId: number;
  subscriptionId: string;
  /** From 1, in the order in which they were made. */
  seq: number;
  userId: number;
  kind: PeriodKind;
  startAt: number;
  endAt: number;
  /** '' for a period that is free. */
  invoiceId: string;
  state: PeriodState;
  /** Unix second until which its invoice can be paid; 0 before there is one. */
  deadline: number;
  /** Unix second at which its invoice, which was cancelled, is made again; 0 unless it was. */
  remakeAt: number;
  /** Invoices that were made for it. */
  timesMade: number;
  /**
   * Unix second at which the usage of the time before it is complete: its draft is finished, and limits are carried over
   * once more; 0 where nothing waits for usage.
   */
  finishAt: number;
  createTime: number;
}

/** Facts of a period for which no invoice of the cycle was made yet. */
export const notBilled = { deadline: 0, remakeAt: 0, timesMade: 0, finishAt: 0 } as const;

export const isLivePeriod = ({ state }: Pick<PeriodRow, 'state'>): boolean => state !== 'void';

/** True for a period that was invoiced at the price of the plan: a step of a trial has its own. */
export const sellsPlan = ({ kind, invoiceId }: Pick<PeriodRow, 'kind' | 'invoiceId'>): boolean =>
  invoiceId !== '' && (kind === 'cycle' || kind === 'stub');

/** The first problem with the tiling of live periods, in words; undefined if they tile time from their first start. */
export function gapIn(rows: readonly Pick<PeriodRow, 'startAt' | 'endAt' | 'state'>[]): string | undefined {
  const live = rows.filter(isLivePeriod).toSorted((a, b) => a.startAt - b.startAt);
  for (const [at, { startAt, endAt }] of live.entries()) {
    if (endAt <= startAt) return `a period from ${startAt} to ${endAt}`;
    const before = live[at - 1];
    if (before && before.endAt !== startAt) return `a period to ${before.endAt}, the next from ${startAt}`;
  }
  return undefined;
}
