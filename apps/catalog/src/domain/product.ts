import { machine, Rejected, type StateOf } from '@recur/kernel';
import { idList } from './id-list.js';
import { same } from './same.js';

/** A product is active from the start unless it was made inactive; it may go back and forth. */
export const productLifecycle = machine({
  active: { deactivate: 'inactive' },
  inactive: { activate: 'active' },
});
export type ProductStatus = StateOf<typeof productLifecycle>;

/** What plans are grouped by. Times in unix seconds, 0 where it has not happened. */
export interface Product {
  /** 0 is the default product, which every merchant has. */
  id: number;
  merchantId: number;
  /** Counted by the write path, one per event; nothing here changes it. */
  version: number;
  status: ProductStatus;
  productName: string;
  description: string;
  homeUrl: string;
  imageUrl: string;
  metadata: Record<string, unknown>;
  usVatConfig: object | null;
  createTime: number;
  modifyTime: number;
  deletedTime: number;
}

/** The product, active; undefined where it is so already. */
export function activate<P extends Product>(product: P, now: number): P | undefined {
  const status = productLifecycle.next(product.status, 'activate');
  return status && { ...product, status, modifyTime: now };
}

/** The product, inactive; undefined where it is so already. */
export function deactivate<P extends Product>(product: P, now: number): P | undefined {
  const status = productLifecycle.next(product.status, 'deactivate');
  return status && { ...product, status, modifyTime: now };
}

/**
 * The product, deleted. Throws Rejected `product_not_deletable`: it is the default one, or `plans` are sold or may be,
 * those that are neither deleted nor archived for good.
 */
export function remove<P extends Product>(product: P, plans: readonly number[], now: number): P {
  const why = product.id === DEFAULT_PRODUCT ? 'is the default one' : plans.length > 0 && `has plans ${idList(plans)}`;
  if (why) throw new Rejected('product_not_deletable', `Product ${product.id} ${why}: cannot delete it`);
  return { ...product, modifyTime: now, deletedTime: now };
}

/** What of a product may be changed. */
export type ProductEdit = Partial<
  Pick<Product, 'status' | 'productName' | 'description' | 'homeUrl' | 'imageUrl' | 'metadata' | 'usVatConfig'>
>;

/** The product with what was sent; undefined where that is what it has already. */
export function edit<P extends Product>(product: P, sent: ProductEdit, now: number): P | undefined {
  const edited = { ...product, ...sent };
  return same(edited, product) ? undefined : { ...edited, modifyTime: now };
}

/** The state of a product that nobody has changed: the one that every merchant has without a row. */
export const defaultProduct = (merchantId: number): Product => ({
  id: DEFAULT_PRODUCT,
  merchantId,
  version: 0,
  status: 'active',
  productName: 'Default',
  description: '',
  homeUrl: '',
  imageUrl: '',
  metadata: {},
  usVatConfig: null,
  createTime: 0,
  modifyTime: 0,
  deletedTime: 0,
});

/** Its id: plans that name no other product are its. */
export const DEFAULT_PRODUCT = 0;
