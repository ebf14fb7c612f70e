import { Injectable } from '@nestjs/common';
import {
  activateProduct,
  editProduct,
  type In,
  listProducts,
  newProduct,
  productDetail,
  productStatus,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, each, given, Handle, type Reader, sorted, type Tx } from '@recur/platform';
import { activate, DEFAULT_PRODUCT, defaultProduct, edit } from './domain/product.js';
import { type ProductRow, products } from './tables.js';
import { named, namesOf, productView, usVatConfigOf } from './views.js';

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
      await change(tx, productId, 'Activate', activate);
      return {};
    });
  }

  @Handle(editProduct)
  edit({ productId, status, usVATConfig, ...texts }: In<typeof editProduct>, caller: Caller) {
    const sent = {
      ...texts,
      ...(status !== undefined && { status: named(productStatus, status) }),
      ...(usVATConfig && { usVatConfig: usVatConfigOf(usVATConfig) }),
    };
    return this.db.write(caller, async tx => ({
      product: productView(await change(tx, productId, 'Edit', (product, now) => edit(product, sent, now))),
    }));
  }

  @Handle(productDetail)
  detail({ productId }: In<typeof productDetail>, caller: Caller) {
    return this.db.read(caller, async reader => ({ product: productView(await findProduct(reader, productId)) }));
  }

  @Handle(listProducts)
  list({ status, page, count, ...sorting }: In<typeof listProducts>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const { rows, total } = await reader.page({
        from: products,
        where: [
          ['id <> ? and deleted_time = 0', DEFAULT_PRODUCT],
          each('status', namesOf(productStatus, given(status))),
        ],
        order: sorted({ createTime: 'create_time', productName: 'product_name' }, sorting),
        page,
        count,
      });
      return { products: rows.map(productView), total };
    });
  }
}

/** Changes a product; where nothing changes, nobody is told. The default product has its row from then on. */
async function change(
  tx: Tx,
  id: number,
  what: 'Edit' | 'Activate',
  step: (product: ProductRow, now: number) => ProductRow | undefined,
): Promise<ProductRow> {
  const known = await tx.lockIfAny(products, { id, deletedTime: 0 });
  const product = known ?? withoutRow(tx.merchantId, id);
  const changed = step(product, tx.now);
  if (!changed) return product;
  tx.onConflict('products_pkey', 'again');
  tx.save(products, changed);
  tx.emit(what === 'Edit' ? 'product.updated' : 'product.activated', changed, productView(changed));
  tx.log(`Product(${id})`, what);
  return changed;
}

/** A product that lives, or Rejected `product_not_found`. The default product is there without a row, too. */
export async function findProduct(reader: Reader, id: number): Promise<ProductRow> {
  return (await reader.find(products, { id, deletedTime: 0 })) ?? withoutRow(reader.merchantId, id);
}

export function withoutRow(merchantId: number, id: number): ProductRow {
  if (id !== DEFAULT_PRODUCT) throw new Rejected('product_not_found');
  return defaultProduct(merchantId) as ProductRow;
}
