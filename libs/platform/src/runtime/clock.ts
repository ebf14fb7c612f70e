/**
 * Source of time. `now` is unix seconds on a merchant's own clock (in a sandbox it can be moved forward);
 * `wall` is the machine's, in milliseconds, for deadlines and durations.
 */
export interface Clock {
  now(merchantId: number): number;
  wall(): number;
}

export const systemClock: Clock = {
  now: () => Math.floor(Date.now() / 1000),
  wall: () => Date.now(),
};
