import { Injectable } from '@nestjs/common';
import { eachItem, type Tx, type Work, type WorkItem, work } from '@recur/platform';
import type { Counter } from '../domain/counter.js';
import type { PlanTerms } from '../domain/subscription.js';
import { counters } from '../tables.js';

/** The kind of work that starts an upgrade; its key is `<subscriptionId>-<planId>`. */
export const UPGRADE_WORK = 'usage.upgrade';

/** Upgrades of subscriptions; `subscriptions/` implements them. */
export abstract class PlanUpgrades {
  /** Starts an upgrade with the usual payment, in the transaction given. */
  abstract start(tx: Tx, of: { subscriptionId: string; planId: number }): Promise<void>;
}

/** Upgrades that refused events ask for (autoUpgradePlanId). */
@Injectable()
export class UsageUpgrades {
  readonly work: Work = work(
    UPGRADE_WORK,
    { time: 'merchant' },
    eachItem((tx, item) => this.run(tx, item)),
  );

  constructor(private readonly upgrades: PlanUpgrades) {}

  private async run(tx: Tx, { key }: WorkItem): Promise<void> {
    const at = key.lastIndexOf('-');
    await this.upgrades.start(tx, { subscriptionId: key.slice(0, at), planId: Number(key.slice(at + 1)) });
  }
}

/**
 * Schedules the upgrade that a refused event asks for, once per period of the subscription, whichever of its limits
 * refuses; returns the counter that has asked, if it had not before.
 */
export async function askUpgrade(tx: Tx, counter: Counter, terms: readonly PlanTerms[]): Promise<Counter | undefined> {
  const planId = terms[0]?.autoUpgradePlanId ?? 0;
  if (planId === 0 || counter.upgradeAsked) return undefined;
  const { subscriptionId, periodStart } = counter;
  const asked = await tx.all(counters, { subscriptionId, periodStart, upgradeAsked: true });
  // two at once are no harm: their work has one key, and it starts no upgrade to a plan twice
  if (asked.length === 0) tx.schedule(UPGRADE_WORK, `${subscriptionId}-${planId}`, tx.now);
  return { ...counter, upgradeAsked: true };
}
