/**
 * Prefixes of the ids under which usage is closed that no invoice bills: dropped with the end of its subscription, or
 * carried to a later invoice with its lines, below the least that a gateway charges.
 */
export const unbilledIds = { dropped: 'dropped_', carried: 'carried_' } as const;

type Unbilled = keyof typeof unbilledIds;

/** The invoice on which usage is charged, else why there is none; both '' while it is open. */
export function chargedOn(closedUnder: string): { chargeInvoiceId: string; unbilledReason: Unbilled | '' } {
  const reasons = Object.keys(unbilledIds) as Unbilled[];
  const unbilledReason = reasons.find(reason => closedUnder.startsWith(unbilledIds[reason])) ?? '';
  return { chargeInvoiceId: unbilledReason === '' ? closedUnder : '', unbilledReason };
}
