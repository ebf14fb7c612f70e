import {
  type Calls,
  type Failure,
  type Input,
  newIdempotencyKey,
  type Output,
  orThrow,
  type Path,
  type RecurError,
  type Result,
} from '@recur/client';
import { keepPreviousData, QueryClient, useQuery } from '@tanstack/react-query';
import { createContext, use, useCallback, useRef, useState } from 'react';
import type { Exchanged } from './session.js';

export interface Visit {
  client: Calls;
  /** Absent on pages that are opened without a client session. */
  session?: Exchanged;
}
export const VisitContext = createContext<Visit | undefined>(undefined);

export function useVisit(): Visit {
  const visit = use(VisitContext);
  if (visit === undefined) throw new Error('no visit around this part');
  return visit;
}

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // the client of the API has tried again already, and says when the network is away
      retry: false,
      networkMode: 'always',
      // a quote does not change under the eyes of its reader
      refetchOnWindowFocus: false,
    },
  },
});

export interface Loaded<D> {
  data?: D;
  error?: Failure;
  /** True while an answer is awaited, also where an earlier one is shown. */
  isLoading: boolean;
  /** Asks again, unless an answer is under way. */
  reload(): void;
}

interface Loading {
  /** Pause between one answer and the next question; 0: it is asked once. */
  everyMs?: number;
  /** An answer from before the part was shown is no answer. */
  isFresh?: boolean;
}

/** The answer of an operation by GET. An answer to an earlier input stays until the next is there. */
export function useGet<P extends Path<'GET'>>(path: P, input: Input<P>, loading?: Loading): Loaded<Output<P>> {
  const { client } = useVisit();
  return useAnswer([path, input], signal => client.get(path, input, { signal }), loading);
}

/** The answer of an operation that asks by POST and changes nothing. */
export function usePost<P extends Path<'POST'>>(path: P, input: Input<P>, loading?: Loading): Loaded<Output<P>> {
  const { client } = useVisit();
  return useAnswer([path, input], signal => client.post(path, input, { signal }), loading);
}

function useAnswer<D>(
  queryKey: readonly unknown[],
  ask: (signal: AbortSignal) => Promise<Result<D>>,
  { everyMs = 0, isFresh = false }: Loading = {},
): Loaded<D> {
  const { data, error, isFetching, isFetchedAfterMount, refetch } = useQuery<D, RecurError>({
    queryKey,
    queryFn: async ({ signal }) => orThrow(await ask(signal)),
    placeholderData: keepPreviousData,
    refetchInterval: everyMs || false,
  });
  // a question that is under way is not given up: asked more often than it is answered, no answer would ever come
  const reload = useCallback(() => void refetch({ cancelRefetch: false }), [refetch]);
  const isKnown = !isFresh || (isFetchedAfterMount && error === null);
  return { data: isKnown ? data : undefined, error: error?.failure, isLoading: isFetching, reload };
}

/** Makes an answer known that came with that of an action. */
export const learn = <P extends Path<'GET'>>(path: P, input: Input<P>, answer: Output<P>) =>
  queries.setQueryData([path, input], answer);

export interface Action<I, D> {
  isBusy: boolean;
  error?: Failure;
  start(input: I): Promise<D | undefined>;
}

/** The server answered that it did nothing. After any other failure the outcome is unknown, or may yet come. */
const isRefused = ({ type, status, retryable }: Failure) =>
  !retryable && type !== 'unreadable' && status >= 400 && status < 500;

/**
 * An intent of the user. While it is under way a second press does nothing; a repeat with the same input after a lost
 * answer has the same idempotency key, so that it happens once. After a refusal it is a new intent, since a gateway repeats
 * its refusal under the same key, and `onRefused` is called: after a lost answer, what the input was made from has to stay.
 * Once it is done, all that is shown is asked for again.
 */
export function useAction<I, D>(
  run: (input: I, key: string) => Promise<Result<D>>,
  onRefused?: () => void,
): Action<I, D> {
  const [state, setState] = useState<{ isBusy: boolean; error?: Failure }>({ isBusy: false });
  const underWay = useRef(false);
  const intent = useRef({ print: '', key: '' });
  const start = async (input: I) => {
    if (underWay.current) return undefined;
    underWay.current = true;
    setState({ isBusy: true });
    const print = JSON.stringify(input);
    if (intent.current.print !== print) intent.current = { print, key: newIdempotencyKey() };
    const result = await run(input, intent.current.key);
    underWay.current = false;
    const refused = !result.ok && isRefused(result.error);
    if (result.ok || refused) intent.current = { print: '', key: '' };
    if (result.ok) void queries.invalidateQueries();
    setState({ isBusy: false, error: result.ok ? undefined : result.error });
    if (refused) onRefused?.();
    return result.ok ? result.data : undefined;
  };
  return { ...state, start };
}
