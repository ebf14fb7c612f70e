import type { Row, Session } from './session.js';

/**
 * How far the clock of the session's merchant is ahead of the machine's, in seconds; in the session's transaction, if it
 * has begun one. For sandbox deployments: in production nobody's clock moves, and none is read.
 */
export async function clockOffset(session: Session): Promise<number> {
  const [row] = await session.query('select offset_seconds from clocks where merchant_id = $1', [session.merchantId]);
  return Number(row?.offset_seconds ?? 0);
}

const moveText = `insert into clocks (merchant_id, offset_seconds) values ($1, $2)
  on conflict (merchant_id) do update set offset_seconds = greatest(clocks.offset_seconds, excluded.offset_seconds)
  returning offset_seconds`;

/** Moves a merchant's clock, forward only; answers how far it is ahead then, in seconds. */
export async function moveClock(
  run: (text: string, values: readonly unknown[]) => Promise<Row[]>,
  merchantId: number,
  offsetSeconds: number,
): Promise<number> {
  if (!Number.isSafeInteger(offsetSeconds) || offsetSeconds < 0)
    throw new Error(`no offset of a clock: ${offsetSeconds}`);
  const [row] = await run(moveText, [merchantId, offsetSeconds]);
  return Number(row?.offset_seconds);
}
