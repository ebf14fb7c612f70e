import { type Calls, type Failure, newIdempotencyKey, type Result } from '@recur/client';
import { createContext, use, useCallback, useEffect, useRef, useState } from 'react';
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

export interface Loaded<D> {
  data?: D;
  error?: Failure;
  isLoading: boolean;
  reload(): void;
}

/** Loads when `deps` change and on `reload`; what was loaded stays until the next answer is there. */
export function useLoad<D>(load: (signal: AbortSignal) => Promise<Result<D>>, deps: readonly unknown[]): Loaded<D> {
  const [state, setState] = useState<{ data?: D; error?: Failure; asked?: string; isLoading: boolean }>({
    isLoading: true,
  });
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const asked = `${turn} ${JSON.stringify(deps)}`;
  useEffect(() => {
    const stop = new AbortController();
    setState(before => ({ ...before, asked, isLoading: true }));
    latest.current(stop.signal).then(result => {
      if (stop.signal.aborted) return;
      setState(before =>
        result.ok
          ? { data: result.data, asked, isLoading: false }
          : { ...before, asked, error: result.error, isLoading: false },
      );
    });
    return () => stop.abort();
  }, [asked]);
  const reload = useCallback(() => setTurn(before => before + 1), []);
  // an answer to an earlier question is still shown, but counts as loading
  return { ...state, isLoading: state.isLoading || state.asked !== asked, reload };
}

export interface Action<I, D> {
  isBusy: boolean;
  error?: Failure;
  start(input: I): Promise<D | undefined>;
  clear(): void;
}

/**
 * An intent of the user. While it is under way a second press does nothing; a repeat with the same input after a failure
 * has the same idempotency key, so that it happens once even where the first answer was lost. `onRefused` is called where
 * the server has answered that it did nothing: after a lost answer, what the input was made from has to stay.
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
    if (result.ok) intent.current = { print: '', key: '' };
    setState({ isBusy: false, error: result.ok ? undefined : result.error });
    if (!result.ok && !result.error.retryable) onRefused?.();
    return result.ok ? result.data : undefined;
  };
  return { ...state, start, clear: () => setState({ isBusy: underWay.current }) };
}
