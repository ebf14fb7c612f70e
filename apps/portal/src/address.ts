/** The request in the address of a page, and the address without its secret, which replaces it at once. */
export type Address =
  | { page: 'session'; clientSession: string; shown: string }
  | { page: 'checkout'; planId: number; checkoutId: number; clientSession: string; shown: string }
  | { page: 'invoice'; token: string; shown: string }
  | { page: 'none'; shown: string };

/**
 * Reads a path below `base` (`/portal/`) and its query. The token of an invoice stays in the address, since that link is
 * the invoice's own and is opened many times; a client session is gone after its first use.
 */
export function readAddress(base: string, pathname: string, search: string): Address {
  const [page = '', id = ''] = pathname.startsWith(base) ? pathname.slice(base.length).split('/') : [];
  const query = new URLSearchParams(search);
  if (page === 'session' && id) return { page, clientSession: decoded(id), shown: base };
  if (page === 'invoice' && id) return { page, token: decoded(id), shown: `${base}invoice/${id}` };
  if (page === 'checkout') {
    const [planId = 0, checkoutId = 0] = ['planId', 'checkoutId'].map(name => Number(query.get(name) ?? 0));
    const shown = `${base}checkout?planId=${planId}${checkoutId ? `&checkoutId=${checkoutId}` : ''}`;
    if (Number.isSafeInteger(planId) && Number.isSafeInteger(checkoutId))
      return { page, planId, checkoutId, clientSession: query.get('session') ?? '', shown };
  }
  return { page: 'none', shown: base };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
