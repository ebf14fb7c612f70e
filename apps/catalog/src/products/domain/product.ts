import { isDeepStrictEqual } from 'node:util';
import { machine, Rejected, type StateOf } from '@recur/kernel';
import { idList } from '../../domain/id-list.js';

/** A product is created active unless asked otherwise, and may be switched back and forth. */
export const productLifecycle = machine({
  active: { deactivate: 'inactive' },
  inactive: { activate: 'active' },
});
export type ProductStatus = StateOf<typeof productLifecycle>;

/** A group of plans. Times in unix seconds, 0 for what has not happened. */
export interface Product {
  /** 0 for the default product, which every merchant has. */
  id: number;
  merchantId: number;
  /** Incremented by the write path with each event. */
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

/** Activates a product; undefined when it is active already. */
export function activate<P extends Product>(product: P, now: number): P | undefined {
  const status = productLifecycle.next(product.status, 'activate');
  return status && { ...product, status, modifyTime: now };
}

/** Deactivates a product; undefined when it is inactive already. */
export function deactivate<P extends Product>(product: P, now: number): P | undefined {
  const status = productLifecycle.next(product.status, 'deactivate');
  return status && { ...product, status, modifyTime: now };
}

/**
 * Deletes a product. Throws Rejected `product_not_deletable` for the default product and for one that has `plans`: ids of
 * plans that are neither deleted nor hard-archived.
 */
export function remove<P extends Product>(product: P, plans: readonly number[], now: number): P {
  const why = product.id === DEFAULT_PRODUCT ? 'is the default one' : plans.length > 0 && `has plans ${idList(plans)}`;
  if (why) throw new Rejected('product_not_deletable', `Product ${product.id} ${why}: cannot delete it`);
  return { ...product, modifyTime: now, deletedTime: now };
}

/** Fields that may be edited. */
export type ProductEdit = Partial<
  Pick<Product, 'status' | 'productName' | 'description' | 'homeUrl' | 'imageUrl' | 'metadata' | 'usVatConfig'>
>;

/** Edits a product; undefined when nothing changes. */
export function edit<P extends Product>(product: P, sent: ProductEdit, now: number): P | undefined {
  const edited = { ...product, ...sent };
  return isDeepStrictEqual(edited, product) ? undefined : { ...edited, modifyTime: now };
}

/** The default product as every merchant has it before its first change, without a row. */
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

/** Id of the default product: plans without another product belong to it. */
export const DEFAULT_PRODUCT = 0;
