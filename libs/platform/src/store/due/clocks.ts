import type { Clock } from '../../runtime/clock.js';
import type { Source } from '../session.js';

/**
 * How far the clock of the merchant is ahead of the machine's, in seconds. For sandbox deployments: in production no
 * clock moves, and none is read.
 */
async function clockOffset(source: Source): Promise<number> {
  const [row] = await source.query('select offset_seconds from clocks where merchant_id = $1', [source.merchantId]);
  return Number(row?.offset_seconds ?? 0);
}

/** Unix seconds on the merchant's clock. */
export async function merchantTime(source: Source, { clock, clocksMove }: { clock: Clock; clocksMove: boolean }) {
  return clock.now(source.merchantId) + (clocksMove ? await clockOffset(source) : 0);
}

const moveText = `insert into clocks (merchant_id, offset_seconds) values ($1, $2)
  on conflict (merchant_id) do update set offset_seconds = greatest(clocks.offset_seconds, excluded.offset_seconds)
  returning offset_seconds`;

/** Moves the merchant's clock, forward only; returns how far it is ahead then, in seconds. */
export async function moveClock(source: Source, offsetSeconds: number): Promise<number> {
  if (!Number.isSafeInteger(offsetSeconds) || offsetSeconds < 0)
    throw new Error(`no offset of a clock: ${offsetSeconds}`);
  const [row] = await source.query(moveText, [source.merchantId, offsetSeconds]);
  return Number(row?.offset_seconds);
}
