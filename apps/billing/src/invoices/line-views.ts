import {
  emptyOf,
  type Invoice,
  type InvoiceLine,
  MultiCurrencyRate,
  MultiCurrencySnapshot,
  type PlanSnapshot,
} from '@recur/contracts';
import { shownAddons, shownPlan } from '../customers/catalog.js';
import { prorationScale, type ServicePeriod } from '../pricing/proration.js';
import type { InvoiceState } from './state.js';
import type { LineRow } from './tables.js';

const [emptyRate, emptyRates] = [emptyOf(MultiCurrencyRate), emptyOf(MultiCurrencySnapshot)];

/** The fields of an invoice that show its subscription. */
export function shownOfSubscription(invoice: InvoiceState): Partial<Invoice> {
  const { subscriptionId, periodStart, periodEnd, billed } = invoice;
  if (subscriptionId === '') return {};
  const { totalAmount, totalAmountExcludingTax } = invoice;
  return {
    subscriptionId,
    periodStart,
    periodEnd,
    subscriptionAmount: Number(totalAmount),
    subscriptionAmountExcludingTax: Number(totalAmountExcludingTax),
    productName: billed?.planSnapshot.plan?.planName ?? '',
    planSnapshot: billed ? snapshotView(billed.planSnapshot) : null,
    billingCycleAnchor: billed?.billingCycleAnchor ?? 0,
    trialEnd: billed?.trialEnd ?? 0,
    prorationDate: billed?.prorationDate ?? 0,
  };
}

/** Rates that were kept before their source and time were have neither. */
function snapshotView(snapshot: PlanSnapshot): PlanSnapshot {
  const { multiCurrencySnapshot: kept, plan, addons, previousPlan, previousAddons } = snapshot;
  const shown = {
    ...snapshot,
    plan: shownPlan(plan),
    addons: shownAddons(addons),
    previousPlan: shownPlan(previousPlan),
    previousAddons: shownAddons(previousAddons),
  };
  if (!kept) return shown;
  const rates = kept.rates.map(rate => ({ ...emptyRate, ...rate }));
  return { ...shown, multiCurrencySnapshot: { ...emptyRates, ...kept, rates } };
}

/** The fields of a line that show the time that it sells, and the part of a full period that this is. */
export function linePeriodOf(line: LineRow): Partial<InvoiceLine> {
  const { start, end } = printedOf(line);
  if (start === 0) return {};
  const { partSeconds, unusedSeconds, periodSeconds, unitAmount } = line.inputs ?? {};
  const part = Number(partSeconds ?? unusedSeconds ?? 0);
  const shown = { periodStart: start, periodEnd: end };
  if (part === 0) return shown;
  const scale = prorationScale({ start: 0, end: part }, { start: 0, end: Number(periodSeconds) });
  const prorated = { ...shown, proration: true, prorationScale: scale };
  return unitAmount === undefined ? prorated : { ...prorated, originUnitAmountExcludeTax: Number(unitAmount) };
}

/** The time that a line sold when it was printed, which stays on its document when that time is moved or ends. */
export const printedOf = (line: Pick<LineRow, 'startAt' | 'endAt' | 'printedStart' | 'printedEnd'>): ServicePeriod =>
  line.printedStart === 0
    ? { start: line.startAt, end: line.endAt }
    : { start: line.printedStart, end: line.printedEnd };
