import { Inject, Injectable } from '@nestjs/common';
import { LOG, type Log, PeriodicTask, type Worker } from '@recur/platform';
import { type Newest, Rates } from './rates.js';
import { readRates } from './rates-xml.js';

/** Where rates come from: XML as `readRates` reads it. What it cannot get it throws. */
export type RateSource = () => Promise<string>;
export const RATE_SOURCE = Symbol('rate source');

const limits = { everyMs: 3_600_000 } as const;

/** Takes over each hour what the source has published, where there is one, and tells when the rates are stale. */
@Injectable()
export class RatesWorker implements Worker {
  private readonly rounds = new PeriodicTask(
    limits.everyMs,
    () => this.look(),
    error => this.log.warn({ err: error }, 'it cannot be told how old the exchange rates are'),
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

  /** One round. Where there are no new rates, those that there are go on serving, and the log tells why. */
  async look(): Promise<void> {
    await this.refresh().catch(error => this.log.warn({ err: error }, 'no new exchange rates'));
    const newest = await this.rates.newest();
    if (newest?.stale) this.log.warn({ ...newest }, 'the exchange rates are older than 48 hours; they still serve');
  }

  private async refresh(): Promise<void> {
    if (!this.source) return;
    const { table, problem } = readRates(await this.source());
    if (!table) throw new Error(`what the source answers is of no use: ${problem}`);
    const outcome = await this.rates.take(table);
    const what = { source: table.source, at: table.at, rates: table.rates.size };
    if (outcome === 'taken') this.log.info(what, 'new exchange rates');
    if (outcome === 'ahead') throw new Error('the source answers rates of a day that is still to come');
  }
}

/** How a service says it in its readiness. */
export function toldOf(newest: Newest | undefined): string {
  if (!newest) return 'none';
  const day = new Date(newest.at * 1000).toISOString().slice(0, 10);
  return `${newest.stale ? 'stale' : 'fresh'}, of ${day}, from ${newest.source}`;
}
