import { Inject, Injectable } from '@nestjs/common';
import {
  CLOCK,
  type Clock,
  Db,
  fetchedWork,
  LOG,
  type Log,
  systemCaller,
  type Tx,
  type Work,
  type Worker,
} from '@recur/platform';
import type { RateTable } from '../domain/rate-table.js';
import { type Newest, Rates } from './rates.js';
import { readRates } from './xml.js';

/** Source of rates: resolves to XML for `readRates`, or throws Error. */
export type RateSource = () => Promise<string>;
export const RATE_SOURCE = Symbol('rate source');

const kind = 'rates.refresh';
const everySeconds = 3_600;

/**
 * Imports published rates every hour when a source is configured, and warns when the rates are stale. One replica at a
 * time does, outside of the transaction as far as it waits for the source. When it fails, the current rates stay in use,
 * the reason is logged, and the next hour tries again.
 */
@Injectable()
export class RatesRefresh implements Worker {
  readonly work: Work = fetchedWork(
    kind,
    { time: 'machine', logged: false },
    () => this.fetch(),
    (tx, _, table) => this.store(tx, table),
  );

  constructor(
    private readonly db: Db,
    private readonly rates: Rates,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
    @Inject(RATE_SOURCE) private readonly source: RateSource | undefined,
  ) {}

  /** Schedules a refresh for now: the settings may have changed. */
  async start(): Promise<void> {
    const caller = systemCaller(0, kind, Number.POSITIVE_INFINITY);
    await this.db
      .apply(caller, async tx => tx.schedule(kind, '', this.now()))
      .catch(error => this.log.warn({ err: error }, 'could not schedule the refresh of the exchange rates'));
  }

  /** Does nothing: the work runner stops the refresh. */
  async stop(): Promise<void> {}

  private async fetch(): Promise<RateTable | undefined> {
    try {
      if (!this.source) return undefined;
      const { table, problem } = readRates(await this.source());
      if (!table) throw new Error(`the source's rates cannot be used: ${problem}`);
      return table;
    } catch (error) {
      this.failed(error);
      return undefined;
    }
  }

  private async store(tx: Tx, table: RateTable | undefined): Promise<void> {
    if (table) await this.take(tx, table);
    const newest = await this.rates.newest(tx);
    if (newest?.stale) this.log.warn({ ...newest }, 'the exchange rates are older than 48 hours; they are still used');
    tx.schedule(kind, '', this.now() + everySeconds);
  }

  private async take(tx: Tx, table: RateTable): Promise<void> {
    const outcome = await this.rates.take(table, tx);
    const what = { source: table.source, at: table.at, rates: table.rates.size };
    if (outcome === 'taken') this.log.info(what, 'imported new exchange rates');
    if (outcome === 'ahead') this.failed(new Error('the source published rates that are dated in the future'));
  }

  private failed(error: unknown): void {
    this.log.warn({ err: error }, 'could not import new exchange rates');
  }

  private now(): number {
    return Math.floor(this.clock.wall() / 1000);
  }
}

/** Text for `exchangeRates` in /readyz. */
export function rateStatus(newest: Newest | undefined): string {
  if (!newest) return 'none';
  const day = new Date(newest.at * 1000).toISOString().slice(0, 10);
  return `${newest.stale ? 'stale' : 'fresh'}, of ${day}, from ${newest.source}`;
}
