import type { TemporaryStack } from '../local/temporary.js';

/** A line of the result. A ratio above 1 is better than the limit, whichever way the measure points. */
export interface Measure {
  value: number;
  unit: string;
  limit: number;
  ratio: number;
}

/** All measures, in the order in which they are taken. */
export const measureNames = [
  'ready',
  'memory_idle',
  'invoice_new',
  'memory_loaded',
  'invoice_pdf',
  'refund_new',
  'payment_mark',
  'user_count',
  'event_list',
  'plan_list',
  'product_list',
  'usage_batch',
  'usage_single',
  'limit_check',
  'renewals',
  'renewals_100k',
  'subscription_new',
  'preview',
  'clock_year',
  'webhook_deliveries',
  'webhook_steady',
  'webhook_burst',
  'webhook_lag',
  'invoice_list_10k',
  'invoice_list_1m',
  'invoice_new_1m',
  'invoice_filters',
  'export_1m',
  'operation_logs',
  'user_count_1m',
  'key_search_1m',
  'webhook_arrival',
  'tracing',
  'replicas',
] as const;
export type MeasureName = (typeof measureNames)[number];

/** Seconds of invoice/new: before anything is measured, before its own rounds, and in each of its three rounds. */
export interface Seconds {
  first: number;
  warm: number;
  round: number;
}

/** A run of the benchmark. */
export interface Bench {
  stack: TemporaryStack;
  /** Path of the pgbench program. */
  pgbench: string;
  /** Seconds of load: a run of selected measures takes shorter ones. */
  seconds: Seconds;
  tell(line: string): void;
  /** True when one of the measures was asked for. */
  wants(...names: MeasureName[]): boolean;
  /** Reports a measure; one that was not asked for is dropped. */
  add(name: MeasureName, measure: Measure, more?: string): void;
  /** Requests per second of the echo, the limit of reads; set by the first measure that needs it. */
  echoLimit?: number;
}
