import { Injectable } from '@nestjs/common';
import { eachItem, type Tx, type Work, type WorkItem, work } from '@recur/platform';
import type { Counter } from '../domain/counter.js';
import type { PlanTerms } from '../domain/facts.js';

/** The kind of work that starts an upgrade; its key is `<subscriptionId>-<planId>`. */
export const UPGRADE_WORK = 'usage.upgrade';

/** Starts an upgrade of a subscription with its usual payment, in the transaction given. */
export type Upgrade = (tx: Tx, of: { subscriptionId: string; planId: number }) => Promise<void>;

/**
 * Upgrades that refused events ask for (autoUpgradePlanId). Subscriptions register how one is made; without it there are
 * none to make.
 */
@Injectable()
export class UsageUpgrades {
  readonly work: Work = work(
    UPGRADE_WORK,
    { time: 'merchant' },
    eachItem((tx, item) => this.run(tx, item)),
  );
  private upgrade: Upgrade | undefined;

  register(upgrade: Upgrade): void {
    this.upgrade = upgrade;
  }

  private async run(tx: Tx, { key }: WorkItem): Promise<void> {
    const at = key.lastIndexOf('-');
    await this.upgrade?.(tx, { subscriptionId: key.slice(0, at), planId: Number(key.slice(at + 1)) });
  }
}

/** Schedules the upgrade that a refused event asks for, once per period; returns the changed counter, if it did. */
export function askUpgrade(tx: Tx, counter: Counter, terms: readonly PlanTerms[]): Counter | undefined {
  const planId = terms[0]?.autoUpgradePlanId ?? 0;
  if (planId === 0 || counter.upgradeAsked) return undefined;
  tx.schedule(UPGRADE_WORK, `${counter.subscriptionId}-${planId}`, tx.now);
  return { ...counter, upgradeAsked: true };
}
