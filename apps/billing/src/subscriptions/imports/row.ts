import { type ImportRow, type Plan } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Gateway } from '../../gateways/domain/gateway.js';

export type ActiveRow = ImportRow<'ActiveSubscriptionImport'>;
export type HistoryRow = ImportRow<'HistorySubscriptionImport'>;

/** The things that a row names, as far as they are there, and when it is taken. */
export interface Found {
  merchantId: number;
  now: number;
  /** Zones in which the boundaries of its periods are looked for, the likeliest first. */
  zones: readonly string[];
  plan: Plan | undefined;
  userId: number | undefined;
  gateway: Gateway | undefined;
  /** Plans of its add-ons, by their own ids and by the merchant's. */
  addonPlan(named: { planId: number } | { externalPlanId: string }): Plan | undefined;
}

/** A fault of a column; '' for one of the row. */
export interface Fault {
  column: string;
  message: string;
}

/** The faults of a row. */
export class Faults {
  readonly found: Fault[] = [];

  add(column: string, message: string): void {
    this.found.push({ column, message });
  }

  /** The result of `make`; undefined where it throws Rejected, whose words are then faults of the column. */
  of<T>(column: string, make: () => T): T | undefined {
    try {
      return make();
    } catch (error) {
      if (!(error instanceof Rejected)) throw error;
      this.add(column, [...error.issues.map(({ message }) => message), error.message].find(text => text !== '') ?? '');
      return undefined;
    }
  }
}
