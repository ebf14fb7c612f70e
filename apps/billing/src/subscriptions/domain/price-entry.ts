import { exponentOf, type Plan, type PlanPriceChange, type SubscriptionPriceChange } from '@recur/contracts';
import { decimalOf, locales } from '@recur/kernel';

/**
 * A price change of a plan or an add-on that a subscription sells. It is announced, takes effect at the beginning of a
 * period, and stays for that period, whose invoices name both prices. Unit prices are in the subscription's currency,
 * times in unix seconds.
 */
export interface PriceEntry {
  planId: number;
  /** The change of the plan, with amounts in the plan's currency. */
  change: PlanPriceChange;
  oldUnitAmount: number;
  unitAmount: number;
  /** When it is to be announced, or was. */
  noticeTime: number;
  /** 0 until it is announced. */
  noticedAt: number;
  /** The beginning of the first period at the new price, as it was announced: it never takes effect before. */
  effectTime: number;
  /** The beginning of the period with which it took effect; 0 until then. */
  from: number;
}

/** How many price changes a plan has seen; plans that were sold before there were any lack the field. */
export const changesOf = ({ priceChange }: Pick<Plan, 'priceChange'>): number => priceChange?.no ?? 0;

export const isToCome = ({ from }: PriceEntry): boolean => from === 0;
export const isUnannounced = ({ from, noticedAt }: PriceEntry): boolean => from === 0 && noticedAt === 0;

/** True if it takes effect with a period that begins at `start`, if it has not done so before. */
export const isEntryDue = ({ from, noticedAt, effectTime }: PriceEntry, start: number): boolean =>
  from === 0 && noticedAt > 0 && start >= effectTime;

/** The entry that took effect with a period. */
export const effectiveIn = (entries: readonly PriceEntry[], planId: number, start: number): PriceEntry | undefined =>
  entries.find(entry => entry.planId === planId && entry.from === start);

/** Entries once a subscription sells other items: those of items that are gone, or have the new price, are dropped. */
export const entriesAfter = (
  entries: readonly PriceEntry[],
  items: readonly { planId: number; unitAmount: number }[],
): PriceEntry[] =>
  entries.filter(entry => {
    const item = items.find(({ planId }) => planId === entry.planId);
    return item !== undefined && item.unitAmount === (isToCome(entry) ? entry.oldUnitAmount : entry.unitAmount);
  });

/** An entry as the API shows it. */
export const entryView = (entry: PriceEntry): SubscriptionPriceChange => ({
  planId: entry.planId,
  oldAmount: entry.oldUnitAmount,
  newAmount: entry.unitAmount,
  noticeTime: entry.noticeTime,
  effectTime: entry.from || entry.effectTime,
});

/** The text of an invoice line at a price that changed with its period: it names both. */
export function changeText(
  { oldUnitAmount, unitAmount, from }: PriceEntry,
  { currency, timeZone }: { currency: string; timeZone: string },
): string {
  const decimals = exponentOf(currency);
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  const money = new Intl.NumberFormat(locales.en, { style: 'currency', currency, ...digits });
  const [before, now] = [oldUnitAmount, unitAmount].map(amount => money.format(decimalOf(BigInt(amount), decimals)));
  const day = new Intl.DateTimeFormat(locales.en, { dateStyle: 'long', timeZone }).format(from * 1000);
  return `Price changed from ${before} to ${now} on ${day}`;
}
