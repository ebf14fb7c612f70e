/**
 * Where an input is stricter than the wire contract's bare type, and why: this list is complete, a test compares it
 * with the schemas. Sections are those of the semantics that the API's docs state.
 */
export interface Deviation {
  /** The operations that have the field, by name. */
  operations: readonly string[];
  /** `lines[].quantity` is a field of a list's entry; '' is the whole input. */
  field: string;
  /** The JSON Schema keywords that say it; `required`, and `x-rule` for what JSON Schema cannot say. */
  adds: readonly string[];
  section: string;
  why: string;
}

export const deviations: readonly Deviation[] = [];
