import { clampToZero, min, ratio } from '@recur/kernel';
import type { Derivation } from './explain.js';

/** A period [start, end), in unix seconds. */
export interface ServicePeriod {
  start: number;
  end: number;
}

/** A prorated amount in minor units, with its derivation. */
export interface Prorated {
  amount: bigint;
  derivation: Derivation;
}

const secondsOf = ({ start, end }: ServicePeriod): bigint => BigInt(end - start);

/**
 * Credit for the unused time of a line at `at`, as a negative amount: round(net × (end − at) ÷ (end − start)), at most
 * what is left of its net. `net` is after discount and promo credit, `period` the period that the line sold.
 */
export function creditUnused(
  { net, creditedNet }: { net: bigint; creditedNet: bigint },
  period: ServicePeriod,
  at: number,
): Prorated {
  const unused = ratio(net, BigInt(period.end - at), secondsOf(period), 'half-away-from-zero');
  return {
    amount: -clampToZero(min(unused, net - creditedNet)),
    derivation: {
      formula: '−min(round(net × unusedSeconds ÷ periodSeconds), net − creditedNet)',
      inputs: {
        net: Number(net),
        creditedNet: Number(creditedNet),
        unusedSeconds: period.end - at,
        periodSeconds: period.end - period.start,
      },
    },
  };
}

/**
 * Charge for part of a full period, at most the full price: round(unitAmount × quantity × part ÷ period). The line has
 * quantity 1 and this amount.
 */
export function chargePart(
  { unitAmount, quantity }: { unitAmount: bigint; quantity: number },
  part: ServicePeriod,
  period: ServicePeriod,
): Prorated {
  const full = unitAmount * BigInt(quantity);
  const exact = ratio(full, secondsOf(part), secondsOf(period), 'half-away-from-zero');
  return {
    amount: min(exact, full),
    derivation: {
      formula: 'min(round(unitAmount × quantity × partSeconds ÷ periodSeconds), unitAmount × quantity)',
      inputs: {
        unitAmount: Number(unitAmount),
        quantity,
        partSeconds: part.end - part.start,
        periodSeconds: period.end - period.start,
      },
    },
  };
}

/** The part of a period for display (`prorationScale`): floor(fraction × 10000). */
export const prorationScale = (part: ServicePeriod, period: ServicePeriod): number =>
  Number(ratio(secondsOf(part), 10_000n, secondsOf(period), 'floor'));
