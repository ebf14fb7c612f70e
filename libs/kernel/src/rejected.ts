/** One thing that is wrong with an input: a JSON pointer into it ('' for the whole) and a sentence. */
export interface Issue {
  path: string;
  message: string;
}

/**
 * An expected failure: it is thrown to leave a command at once, and becomes the error envelope at the edge.
 * It is not an Error: it has no stack, and is never logged as a bug. `slug` is one of contracts' registered errors.
 */
export class Rejected {
  constructor(
    readonly slug: string,
    readonly message?: string,
    readonly issues: readonly Issue[] = [],
  ) {}
}

/** An input that its schema accepts but a rule does not: error `invalid_parameters`, naming the field. */
export function invalid(path: string, message: string): Rejected {
  return new Rejected('invalid_parameters', undefined, [{ path, message }]);
}
