import { useEffect, useState } from 'react';

/** Pause in typing after which a value counts. */
const pauseMs = 350;

/** A value once it has not changed for a moment, so that a question is not asked at every key. */
export function useSettled<T>(value: T): T {
  const print = JSON.stringify(value);
  const [settled, setSettled] = useState(print);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(print), pauseMs);
    return () => clearTimeout(timer);
  }, [print]);
  return JSON.parse(settled) as T;
}
