import { z } from 'zod';
import { UsVatConfig, UsVatConfigInput } from '../billing/addresses.js';
import { productStatus } from '../codes.js';
import { code, deletion, Empty, integer, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { anyMember, operation } from '../operation.js';

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

/** The product of plans without another one, as every merchant has it before its first change. */
export const defaultProduct = (merchantId: number): Product => ({
  id: 0,
  merchantId,
  createTime: 0,
  productName: 'Default',
  description: '',
  homeUrl: '',
  imageUrl: '',
  metaData: '{}',
  isDeleted: 0,
  status: productStatus.active,
  usVATConfig: null,
});

export const newProduct = operation({
  service: 'catalog',
  name: 'product.new',
  methods: ['POST'],
  path: '/merchant/product/new',
  summary: 'Create a product, active unless status says otherwise',
  effect: 'write',
  permission: 'plan.write',
  input: z.object({
    description: input.prose.default(''),
    homeUrl: input.optionalUrl.default(''),
    imageUrl: input.optionalUrl.default(''),
    metadata: input.metadata.default({}),
    productName: input.line.default(''),
    status: input.code(productStatus).default(productStatus.active),
    usVATConfig: UsVatConfigInput.optional(),
  }),
  output: z.object({ product: Product }),
  errors: [],
});

export const activateProduct = operation({
  service: 'catalog',
  name: 'product.activate',
  methods: ['POST'],
  path: '/merchant/product/activate',
  summary: 'Activate a product; no effect if it is already active. 0 is the default product',
  effect: 'write',
  permission: 'plan.write',
  input: z.object({ productId: input.integer }),
  output: Empty,
  errors: ['product_not_found'],
});

export const editProduct = operation({
  service: 'catalog',
  name: 'product.edit',
  methods: ['POST'],
  path: '/merchant/product/edit',
  summary: 'Update the fields sent; metadata is replaced as a whole. 0 is the default product',
  effect: 'write',
  permission: 'plan.write',
  input: z.object({
    productId: input.integer,
    productName: input.filled.optional(),
    description: input.prose.optional(),
    homeUrl: input.optionalUrl.optional(),
    imageUrl: input.optionalUrl.optional(),
    metadata: input.metadata.optional(),
    status: input.code(productStatus).optional(),
    usVATConfig: UsVatConfigInput.optional(),
  }),
  output: z.object({ product: Product }),
  errors: ['product_not_found'],
});

export const listProducts = operation({
  service: 'catalog',
  name: 'product.list',
  methods: ['GET', 'POST'],
  path: '/merchant/product/list',
  summary: 'Products, newest first; 0 is the default product, which was there first',
  effect: 'read',
  permission: anyMember,
  input: input.paged(
    z.object({
      status: input.q.ints().optional(),
      ...input.sorting('createTime', 'productName', 'modifyTime'),
      ...input.paging,
    }),
  ),
  output: z.object({ products: z.array(Product), total: input.total }),
  errors: [],
});

export const productDetail = operation({
  service: 'catalog',
  name: 'product.detail',
  methods: ['GET', 'POST'],
  path: '/merchant/product/detail',
  summary: 'A product; 0 is the default product',
  effect: 'read',
  permission: 'plan.read',
  input: z.object({ productId: input.q.int() }),
  output: z.object({ product: Product }),
  errors: ['product_not_found'],
});

export const inactivateProduct = operation({
  service: 'catalog',
  name: 'product.inactivate',
  methods: ['POST'],
  path: '/merchant/product/inactivate',
  summary: 'Deactivate a product; no effect if it is already inactive. 0 is the default product',
  effect: 'write',
  permission: 'plan.write',
  input: z.object({ productId: input.integer }),
  output: Empty,
  errors: ['product_not_found'],
});

export const copyProduct = operation({
  service: 'catalog',
  name: 'product.copy',
  methods: ['POST'],
  path: '/merchant/product/copy',
  summary: 'Copy a product with its status; plans are not copied',
  effect: 'write',
  permission: 'plan.write',
  input: z.object({ productId: input.integer }),
  output: z.object({ product: Product }),
  errors: ['product_not_found'],
});

export const deleteProduct = operation({
  service: 'catalog',
  name: 'product.delete',
  methods: ['POST'],
  path: '/merchant/product/delete',
  summary: 'Delete a product whose plans are all deleted or hard-archived; the default product cannot be deleted',
  effect: 'write',
  permission: 'plan.write',
  input: z.object({ productId: input.integer }),
  output: Empty,
  errors: ['product_not_found', 'product_not_deletable'],
});
