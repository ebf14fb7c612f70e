import { machine, type StateOf } from '@recur/kernel';

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
