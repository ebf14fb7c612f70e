import { useEffect, useState } from 'react';
import { useGet } from './calls.js';

/** Time between looks for a method that is confirmed on another page, and time after which none is expected. */
const everyMs = 3_000;
const expectedMs = 15 * 60_000;

/**
 * The saved methods, and the page on which one that was just entered has to be confirmed, '' for none. While there is such
 * a page the list is asked for again and again, for a while; the page is forgotten once the list is another.
 */
export function useMethods() {
  const [page, setPage] = useState('');
  const [isExpected, setExpected] = useState(false);
  const methods = useGet('/portal/payment_method/list', {}, { everyMs: isExpected ? everyMs : 0 });
  const ids = methods.data?.methods.map(({ gatewayId, id }) => `${gatewayId} ${id}`).join();
  const [idsBefore, setIdsBefore] = useState(ids);
  if (ids !== idsBefore) {
    setIdsBefore(ids);
    setPage('');
  }
  useEffect(() => {
    setExpected(page !== '');
    const timer = setTimeout(() => setExpected(false), expectedMs);
    return () => clearTimeout(timer);
  }, [page]);
  return { methods, page, setPage };
}
