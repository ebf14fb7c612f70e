import { z } from 'zod';
import { productStatus } from '../codes.js';
import { code, deletion, integer, type Shape, text, time } from '../field.js';
import { UsVatConfig } from './address.js';

const product = z.object({
  id: integer,
  merchantId: integer,
  createTime: time,
  productName: text,
  description: text,
  homeUrl: text,
  imageUrl: text,
  metaData: text,
  isDeleted: deletion,
  status: code(productStatus),
  usVATConfig: UsVatConfig.nullable(),
});
export interface Product extends z.output<typeof product> {}
export const Product: Shape<Product> = product.meta({ id: 'Product' });
