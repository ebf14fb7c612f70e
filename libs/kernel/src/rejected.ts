declare global {
  /** The registered error slugs, as keys. Contracts' `errors` fills it in, since kernel must not import contracts. */
  interface ErrorSlugs extends Record<never, true> {}
}

/** A registered error slug; any string where no registry is compiled in. */
export type ErrorSlug = keyof ErrorSlugs extends never ? string : keyof ErrorSlugs;

/** A problem with an input: a JSON pointer into it ('' for the whole) and a sentence. */
export interface Issue {
  path: string;
  message: string;
}

/** An expected outcome that leaves a function by being thrown. It is no bug, so no stack is captured. */
export abstract class Outcome extends Error {
  constructor(message = '', options?: ErrorOptions) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, options);
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/**
 * An expected failure: it ends a command at once and becomes the error envelope at the edge. It is never logged as a
 * bug. `slug` is one of contracts' registered errors; `message` is '' unless it says more than the registered text.
 */
export class Rejected extends Outcome {
  override readonly name = 'Rejected';

  constructor(
    readonly slug: ErrorSlug,
    message?: string,
    readonly issues: readonly Issue[] = [],
  ) {
    super(message);
  }

  /** The form sent to the caller; an empty message is left out. */
  toJSON() {
    const { slug, message, issues } = this;
    return { slug, ...(message && { message }), issues };
  }
}

/** An input that its schema accepts but a rule does not: error `invalid_parameters`, naming the field. */
export function invalid(path: string, message: string): Rejected {
  return new Rejected('invalid_parameters', undefined, [{ path, message }]);
}
