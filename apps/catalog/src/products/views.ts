import * as contract from '@recur/contracts';
import type { ProductRow } from './tables.js';

const emptyProduct = contract.emptyOf(contract.Product);

export function productView(product: ProductRow): contract.Product {
  return {
    ...emptyProduct,
    id: product.id,
    merchantId: product.merchantId,
    createTime: product.createTime,
    productName: product.productName,
    description: product.description,
    homeUrl: product.homeUrl,
    imageUrl: product.imageUrl,
    metaData: JSON.stringify(product.metadata, inOrder),
    isDeleted: product.deletedTime,
    status: contract.productStatus[product.status],
    usVATConfig: product.usVatConfig,
  };
}

/** Sorts object members: jsonb does not keep their order, and the same metadata must give the same text. */
const inOrder = (_: string, value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;
