import { Injectable } from '@nestjs/common';
import { activateProduct, type In, newProduct, productStatus } from '@recur/contracts';
import { type Caller, Db, Handle } from '@recur/platform';
import { activate } from './domain/product.js';
import { type ProductRow, products } from './tables.js';
import { named, productView, usVatConfigOf } from './views.js';

/** The product that every merchant has without a row: active, for plans that name no other. */
export const DEFAULT_PRODUCT = 0;

@Injectable()
export class Products {
  constructor(private readonly db: Db) {}

  @Handle(newProduct)
  create({ status, usVATConfig, ...texts }: In<typeof newProduct>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const id = await tx.nextId(products);
      const product: ProductRow = {
        ...texts,
        merchantId: tx.merchantId,
        id,
        version: 0,
        status: named(productStatus, status),
        usVatConfig: usVatConfigOf(usVATConfig),
        createTime: tx.now,
        modifyTime: tx.now,
        deletedTime: 0,
      };
      const view = productView(product);
      tx.save(products, product);
      tx.emit('product.created', product, view);
      tx.log(`Product(${id})`, 'New');
      return { product: view };
    });
  }

  @Handle(activateProduct)
  activate({ productId }: In<typeof activateProduct>, caller: Caller) {
    return this.db.write(caller, async tx => {
      if (productId === DEFAULT_PRODUCT) return {};
      const product = await tx.lock(products, { id: productId, deletedTime: 0 }, 'product_not_found');
      const activated = activate(product, tx.now);
      if (activated) {
        tx.save(products, activated);
        tx.emit('product.activated', activated, productView(activated));
        tx.log(`Product(${productId})`, 'Activate');
      }
      return {};
    });
  }
}
