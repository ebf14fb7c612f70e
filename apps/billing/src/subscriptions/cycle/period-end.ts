import { Injectable } from '@nestjs/common';
import type { Tx } from '@recur/platform';
import type { CycleState } from '../domain/cycle.js';
import type { Subscription } from '../domain/subscription.js';
import { SubscriptionEndings } from '../endings/ending.js';
import { subscriptionPeriods } from '../tables.js';

/** Ends of subscriptions that come with time. */
@Injectable()
export class PeriodEnd {
  constructor(private readonly endings: SubscriptionEndings) {}

  /** Ends a subscription with its current period; the next one, if its invoice was made, is credited or cancelled. */
  async end(tx: Tx, { sub, current, ahead }: CycleState): Promise<CycleState> {
    const reason = sub.cancelReason || 'Cancelled at the end of the period';
    const over = await this.endings.end(tx, sub, { move: 'cancel', reason });
    if (ahead) tx.save(subscriptionPeriods, { ...ahead, state: 'void', remakeAt: 0 });
    return { sub: over, current, ahead: undefined };
  }

  /** Ends a subscription by a deadline: expired, or failed where it never paid. */
  expire(tx: Tx, sub: Subscription): Promise<Subscription> {
    const move = sub.firstPaidTime === 0 ? 'fail' : 'expire';
    return this.endings.end(tx, sub, { move, reason: 'The invoice of its period was not paid in time' });
  }
}
