/** Encodes arrays of values as parameters. */
export interface Arrays {
  /** A text[]. */
  texts(values: readonly (string | null)[]): unknown;
  /** A bigint[] without nulls; throws if a value is not a whole number of 64 bits. */
  wholes(values: readonly unknown[]): unknown;
}
