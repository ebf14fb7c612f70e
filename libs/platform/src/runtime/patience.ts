/**
 * Factor on deadlines within the system (DEADLINE_FACTOR): 1 but in tests, where no answer depends on the machine's speed.
 * All apps have the same one, since each waits a little longer than those it asks.
 */
const factor = Number(process.env.DEADLINE_FACTOR || 1);

/** A deadline within the system, in any unit of time. */
export const patient = (time: number): number => time * factor;
