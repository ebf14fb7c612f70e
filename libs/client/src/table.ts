import type * as contracts from '@recur/contracts';

// Types only: the contract table itself, with its schemas, stays out of what a browser loads.

type Contracts = typeof contracts;
type Method = 'GET' | 'POST';

/** Every operation of the API, by its path. */
type Table = {
  [K in keyof Contracts as Contracts[K] extends { path: infer P extends string; methods: readonly Method[] }
    ? P
    : never]: Contracts[K];
};

/** The paths that can be called by a method. */
export type Path<M extends Method = Method> = {
  [P in keyof Table]: Table[P] extends { methods: readonly (infer N)[] } ? (M & N extends never ? never : P) : never;
}[keyof Table];

type InputOf<T> = T extends { input: { _zod: { input: infer I; output: infer O } } }
  ? { [K in keyof I]: unknown extends I[K] ? (K extends keyof O ? O[K] : never) : I[K] }
  : never;
type OutputOf<T> = T extends { output: { _zod: { output: infer O } } } ? O : never;

/** The input of an operation; fields that a query spells as text are given as numbers and flags. */
export type Input<P extends Path> = InputOf<Table[P]>;
/** The answer of an operation: `data` of the envelope. */
export type Output<P extends Path> = OutputOf<Table[P]>;

/** The entries of an operation that answers a list with its total. */
export type Entry<P extends Path> = {
  [K in keyof Output<P>]: Output<P>[K] extends readonly (infer E)[] ? E : never;
}[keyof Output<P>];
/** The lists: operations that take a page and answer a total. */
export type ListPath = {
  [P in Path<'POST'>]: 'page' extends keyof Input<P> ? ('total' extends keyof Output<P> ? P : never) : never;
}[Path<'POST'>];
