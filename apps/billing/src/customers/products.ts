import { defaultProduct, type Plan, type Product } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Peeking, Peeks } from '@recur/platform';
import { products } from './tables.js';

/** Products by id. The default product has a copy only once its merchant has edited it. */
export type Products = ReadonlyMap<number, Product>;

/** The products of plans. A command asks catalog first where its copies are known to lag: throws Stale. */
export async function productsOf(reader: Peeking | Peeks, plans: readonly Plan[]): Promise<Products> {
  if ('fresh' in reader) for (const { productId } of plans) if (productId !== 0) reader.fresh('products', productId);
  const copies = await reader.peekAmong(
    products,
    'id',
    plans.map(({ productId }) => productId),
  );
  return new Map(copies.map(({ id, data }) => [id, data]));
}

/**
 * Checks that the product of each plan is known, where what is sold depends on its settings. A missing copy is asked of
 * catalog first: throws Stale, carrying Rejected `plan_not_found`.
 */
export function assertProducts(tx: Peeks, plans: readonly Plan[], known: Products): void {
  const missing = plans.find(({ productId }) => productId !== 0 && !known.has(productId));
  if (missing === undefined) return;
  const refusal = new Rejected('plan_not_found', `The product of plan ${missing.id} is unknown`);
  throw tx.stale('products', missing.productId, refusal);
}

/** The product of a plan; the default one exists without a copy. Null for one that is unknown. */
export async function productOf(reader: Peeking, plan: Plan): Promise<Product | null> {
  const known = (await productsOf(reader, [plan])).get(plan.productId);
  return known ?? (plan.productId === 0 ? defaultProduct(plan.merchantId) : null);
}
