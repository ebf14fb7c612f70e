/** What is remembered of the codes that a member has tried. */
export interface Tries {
  /** The last time step whose code was used: a code works once (RFC 6238 §5.2). */
  lastStep: number;
  failures: number;
  /** Unix seconds. */
  lockedUntil: number;
}

const limits = { failures: 5, lockedSeconds: 900 } as const;

export const isLocked = ({ lockedUntil }: Tries, now: number): boolean => lockedUntil > now;

/** Whether a code of this step may still be used. */
export const isFresh = ({ lastStep }: Tries, step: number): boolean => step > lastStep;

/** After a code that was right: of a time step, or a recovery code, which has none. */
export const passed = <T extends Tries>(tries: T, step = tries.lastStep): T => ({
  ...tries,
  lastStep: step,
  failures: 0,
  lockedUntil: 0,
});

/** After a code that was wrong. With the last one that is allowed, no code is taken for a while. */
export function failed<T extends Tries>(tries: T, now: number): T {
  const failures = tries.failures + 1;
  if (failures < limits.failures) return { ...tries, failures };
  return { ...tries, failures: 0, lockedUntil: now + limits.lockedSeconds };
}
