import { Injectable } from '@nestjs/common';
import type { Tx } from '@recur/platform';
import type { CycleState } from '../domain/cycle.js';
import type { Subscription } from '../domain/subscription.js';
import { SubscriptionEndings } from '../endings/ending.js';
import { voidPeriod } from '../periods.js';

/** Ends of subscriptions that come with time. */
@Injectable()
export class PeriodEnd {
  constructor(private readonly endings: SubscriptionEndings) {}

  /**
   * Ends a subscription; the invoice of its next period, if there is one, is cancelled, or credited where it is paid. Its
   * last usage is billed when it is complete.
   */
  async end(tx: Tx, { sub, ahead }: CycleState): Promise<CycleState> {
    if (ahead) await voidPeriod(tx, ahead);
    const reason = sub.cancelReason || 'Cancelled at the end of the period';
    const at = Math.min(tx.now, sub.currentPeriodEnd);
    return this.endings.end(tx, sub, { move: 'cancel', reason, usageLater: true, at });
  }

  /** Ends a subscription by a deadline: expired, or failed where it never paid. */
  expire(tx: Tx, sub: Subscription): Promise<CycleState> {
    const move = sub.firstPaidTime === 0 ? 'fail' : 'expire';
    return this.endings.end(tx, sub, { move, reason: 'The invoice of its period was not paid in time' });
  }
}
