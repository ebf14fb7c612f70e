import { useIsFetching, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { Waiting } from './notices.js';

/** Time after which a page shows what there is of it. */
const patienceMs = 5_000;

const firstAnswers = { predicate: ({ state }: { state: { data: unknown } }) => state.data === undefined };

/**
 * Shows the parts of a page together, once each has its first answer or has failed: a part that came later would push
 * away what is about to be pressed.
 */
export function Whole({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const awaited = useIsFetching(firstAnswers);
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    // counted once the effects of all parts have run: what an answer brought onto the page has begun to ask by then
    const settled = setTimeout(() => {
      if (awaited === 0 && queries.isFetching(firstAnswers) === 0) setShown(true);
    });
    return () => clearTimeout(settled);
  }, [awaited, queries]);
  useEffect(() => {
    const late = setTimeout(() => setShown(true), patienceMs);
    return () => clearTimeout(late);
  }, []);
  return (
    <>
      {!isShown && <Waiting />}
      <div className={isShown ? undefined : 'awaited'}>{children}</div>
    </>
  );
}
