import { createContext, use, useCallback, useEffect, useState } from 'react';

/** The part of the pages that a visit shows; kept in the history's state, not in the address, so that going back works. */
export type View =
  | { kind: 'portal' }
  | { kind: 'change'; subscriptionId: string }
  | { kind: 'invoice'; invoiceId: string };

export const GoContext = createContext<(view: View) => void>(() => undefined);
export const useGo = () => use(GoContext);

export function useView(first: View): [View, (view: View) => void] {
  const [view, setView] = useState(first);
  useEffect(() => {
    const back = (event: PopStateEvent) => setView((event.state as { view?: View } | null)?.view ?? first);
    addEventListener('popstate', back);
    return () => removeEventListener('popstate', back);
  }, [first]);
  const go = useCallback((next: View) => {
    history.pushState({ view: next }, '');
    setView(next);
    scrollTo(0, 0);
  }, []);
  return [view, go];
}
