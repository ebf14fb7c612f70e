import { type ErrorSlug, Rejected } from './rejected.js';

type Table = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The states of a lifecycle. */
export type StateOf<M> = M extends { table: infer T } ? keyof T & string : never;

/**
 * A lifecycle as a table: state → move → next state. A state without moves is final.
 * Throws immediately if a move leads to a state missing from the table.
 */
export function machine<const T extends Table>(table: T) {
  type State = keyof T & string;
  type Move = { [S in keyof T]: keyof T[S] & string }[keyof T];
  const states = Object.keys(table) as State[];
  for (const [state, moves] of Object.entries(table)) {
    for (const [move, next] of Object.entries(moves)) {
      if (!Object.hasOwn(table, next)) throw new Error(`${state} --${move}--> ${next}: no such state`);
    }
  }
  // own properties only: a state or move from outside may be named `constructor`
  const follow = (state: State, move: Move): State | undefined => {
    const moves = Object.hasOwn(table, state) ? table[state] : undefined;
    return moves && Object.hasOwn(moves, move) ? (moves[move] as State) : undefined;
  };
  return {
    table,
    states,
    moves: [...new Set(Object.values(table).flatMap(moves => Object.keys(moves)))] as Move[],
    /** The state after `move`, or undefined if the table does not allow it. */
    next: follow,
    /** The state after `move`. Throws Rejected(slug), naming state and move, if it is not allowed. */
    step(state: State, move: Move, slug: ErrorSlug, subject: string): State {
      const next = follow(state, move);
      if (next === undefined) throw new Rejected(slug, `${subject} is ${state}: cannot ${move} it`);
      return next;
    },
  };
}
