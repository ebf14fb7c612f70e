/** State of a member's attempts at two-factor codes. */
export interface Tries {
  /** The last time step used: a code works once (RFC 6238 §5.2). */
  lastStep: number;
  failures: number;
  /** Unix seconds. */
  lockedUntil: number;
}

const lockout = { failures: 5, seconds: 900 } as const;

export const isLocked = ({ lockedUntil }: Tries, now: number): boolean => lockedUntil > now;

/** True if the code of this step is unused. */
export const isFresh = ({ lastStep }: Tries, step: number): boolean => step > lastStep;

/** The state after a right code: of a time step, or a recovery code, which has none. */
export const passed = <T extends Tries>(tries: T, step = tries.lastStep): T => ({
  ...tries,
  lastStep: step,
  failures: 0,
  lockedUntil: 0,
});

/** The state after a wrong code; the last allowed failure locks codes for a while. */
export function failed<T extends Tries>(tries: T, now: number): T {
  const failures = tries.failures + 1;
  if (failures < lockout.failures) return { ...tries, failures };
  return { ...tries, failures: 0, lockedUntil: now + lockout.seconds };
}
