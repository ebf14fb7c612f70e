import type { UsVatConfig } from '@recur/contracts';
import { document, int, integer, oneOf, optionalDocument, table, text } from '@recur/platform';
import { notDeleted } from '../columns.js';
import { type Product, productLifecycle } from './domain/product.js';

export interface ProductRow extends Product {
  usVatConfig: UsVatConfig | null;
  /** Sort key of lists: see `sortNameOf`. */
  sortName: string;
}

export const products = table<ProductRow>('products', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    version: int(),
    status: text(),
    productName: text(),
    description: text(),
    homeUrl: text(),
    imageUrl: text(),
    metadata: document(),
    usVatConfig: optionalDocument(),
    createTime: integer(),
    modifyTime: integer(),
    deletedTime: integer(),
    sortName: { ...text(), default: '' },
  },
  checks: { products_status: oneOf('status', productLifecycle.states) },
  indices: {
    products_newest: { on: ['merchantId', 'createTime', 'id'], where: notDeleted },
    products_by_status: { on: ['merchantId', 'status', 'createTime', 'id'], where: notDeleted },
    products_by_name: { on: ['merchantId', 'sortName', 'id', 'status'], where: notDeleted },
  },
});
