import { Inject, Injectable } from '@nestjs/common';
import { LOG, type Log, PeriodicTask, type Worker } from '@recur/platform';
import { type Newest, Rates } from './rates.js';
import { readRates } from './xml.js';

/** Source of rates: resolves to XML for `readRates`, or throws Error. */
export type RateSource = () => Promise<string>;
export const RATE_SOURCE = Symbol('rate source');

const limits = { everyMs: 3_600_000 } as const;

/** Imports published rates every hour when a source is configured, and warns when the rates are stale. */
@Injectable()
export class RatesWorker implements Worker {
  private readonly rounds = new PeriodicTask(
    limits.everyMs,
    () => this.look(),
    error => this.log.warn({ err: error }, 'could not determine the age of the exchange rates'),
  );

  constructor(
    private readonly rates: Rates,
    @Inject(LOG) private readonly log: Log,
    @Inject(RATE_SOURCE) private readonly source: RateSource | undefined,
  ) {}

  start(): void {
    this.rounds.start();
  }

  stop(): Promise<void> {
    return this.rounds.stop();
  }

  /** Runs a round. When the import fails, the current rates stay in use and the reason is logged. */
  async look(): Promise<void> {
    await this.refresh().catch(error => this.log.warn({ err: error }, 'could not import new exchange rates'));
    const newest = await this.rates.newest();
    if (newest?.stale) this.log.warn({ ...newest }, 'the exchange rates are older than 48 hours; they are still used');
  }

  private async refresh(): Promise<void> {
    if (!this.source) return;
    const { table, problem } = readRates(await this.source());
    if (!table) throw new Error(`the source's rates cannot be used: ${problem}`);
    const outcome = await this.rates.take(table);
    const what = { source: table.source, at: table.at, rates: table.rates.size };
    if (outcome === 'taken') this.log.info(what, 'imported new exchange rates');
    if (outcome === 'ahead') throw new Error('the source published rates that are dated in the future');
  }
}

/** Text for `exchangeRates` in /readyz. */
export function rateStatus(newest: Newest | undefined): string {
  if (!newest) return 'none';
  const day = new Date(newest.at * 1000).toISOString().slice(0, 10);
  return `${newest.stale ? 'stale' : 'fresh'}, of ${day}, from ${newest.source}`;
}
