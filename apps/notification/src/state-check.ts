/** CHECK constraint of a lifecycle's state column. */
export const oneOf = (states: readonly string[]) => `state in (${states.map(state => `'${state}'`).join(', ')})`;
