/** Fields of the checkout that a link fills in. */
export interface Filled {
  quantity: number;
  discountCode: string;
}

/** A link to the checkout of a plan. */
export interface Checkout {
  page: 'checkout';
  planId: number;
  /** 0: the template of the plan. */
  checkoutId: number;
  filled: Filled;
  clientSession: string;
  shown: string;
}

/** The request in the address of a page, and the address without its secret, which replaces it at once. */
export type Address =
  | { page: 'session'; clientSession: string; shown: string }
  | Checkout
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
    const numbers = ['planId', 'checkoutId', 'quantity'].map(name => Number(query.get(name) ?? 0));
    const [planId = 0, checkoutId = 0, quantity = 0] = numbers;
    const shown = `${base}checkout?planId=${planId}${checkoutId ? `&checkoutId=${checkoutId}` : ''}`;
    const filled = { quantity: Math.max(1, quantity), discountCode: query.get('discountCode') ?? '' };
    if (numbers.every(Number.isSafeInteger))
      return { page, planId, checkoutId, filled, clientSession: query.get('session') ?? '', shown };
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
