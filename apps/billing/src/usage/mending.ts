import { Injectable } from '@nestjs/common';
import { type Caller, Db, type Tx } from '@recur/platform';
import { metricsById } from '../customers/catalog.js';
import { counterKey } from './counters.js';
import { scheduleUsageNotice } from './notices.js';
import {
  type Compared,
  comparison,
  logDifference,
  reassignEvents,
  rebuildUniques,
  scheduleRecount,
} from './recounts.js';
import { counters } from './tables.js';

const keysText = `select subscription_id, metric_id, start_at from usage_counters where merchant_id = $1
  and (subscription_id, metric_id, start_at) > ($2, $3, $4) order by subscription_id, metric_id, start_at limit 500`;

interface CounterKey {
  subscriptionId: string;
  metricId: number;
  startAt: number;
}

/** Mends counters that differ from their events. */
@Injectable()
export class UsageMending {
  constructor(private readonly db: Db) {}

  /**
   * Compares all counters of a merchant and mends those that differ, each in a transaction of its own that holds its lock,
   * as recording does. What an invoice has billed stays: the difference is late usage on the next. `mended` is called with
   * each counter as it was; returns how many were right.
   */
  async mend(caller: Caller, mended: (compared: Compared) => void): Promise<number> {
    let right = 0;
    let after: CounterKey = { subscriptionId: '', metricId: 0, startAt: 0 };
    for (;;) {
      const values = [caller.merchantId, after.subscriptionId, after.metricId, after.startAt];
      const rows = await this.db.read(caller, reader => reader.query(keysText, values));
      if (rows.length === 0) return right;
      for (const row of rows) {
        const [metricId, startAt] = [Number(row.metric_id), Number(row.start_at)];
        after = { subscriptionId: String(row.subscription_id), metricId, startAt };
        const compared = await this.one({ ...caller, requestId: `${caller.requestId} ${counterKey(after)}` }, after);
        if (compared?.agrees) right++;
        else if (compared) mended(compared);
      }
    }
  }

  /** Undefined for a counter that is gone, or whose metric is not known. */
  private async one(caller: Caller, key: CounterKey): Promise<Compared | undefined> {
    let compared: Compared | undefined;
    await this.db.write(caller, async tx => {
      compared = undefined;
      const metric = (await metricsById(tx, [key.metricId])).get(key.metricId);
      const counter = await tx.lockIfAny(counters, { ...key });
      if (!metric || !counter) return {};
      compared = await comparison(tx, metric, counter);
      if (!compared.agrees) await setRight(tx, compared);
      return {};
    });
    return compared;
  }
}

async function setRight(tx: Tx, compared: Compared): Promise<void> {
  const { counter, exact } = compared;
  await reassignEvents(tx, counter);
  await rebuildUniques(tx, counter);
  const mended = { ...counter, ...exact, version: counter.version + 1 };
  tx.save(counters, scheduleUsageNotice(tx, mended));
  scheduleRecount(tx, mended);
  logDifference(tx, [compared], 'Mended');
}
