/** Reason of a failed request: refused by us (url, address), or the step that failed. */
export type FailureReason = 'url' | 'address' | 'dns' | 'connect' | 'tls' | 'timeout' | 'reset' | 'protocol';

/** A network failure, a failure of the other side, or our refusal. Becomes a Result; never leaves as an exception. */
export class Unreachable extends Error {
  constructor(
    readonly reason: FailureReason,
    readonly detail: string,
  ) {
    super(`${reason}: ${detail}`);
  }
}

export function networkCode(error: unknown): string | undefined {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}
