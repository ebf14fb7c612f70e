import { Controller } from '@nestjs/common';
import {
  activateProduct,
  copyProduct,
  deleteProduct,
  editProduct,
  type In,
  inactivateProduct,
  listProducts,
  newProduct,
  type Product,
  productDetail,
  productStatus,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, given, Handle, type Reader, sorted, type Tx } from '@recur/platform';
import { nameOfCode, namesOf } from '../codes.js';
import { sortNameOf } from '../columns.js';
import { conditions } from '../lists.js';
import { plansOfProduct } from '../plan-references.js';
import { usVatConfigOf } from '../us-vat.js';
import { productAggregate } from './aggregate.js';
import { activate, DEFAULT_PRODUCT, deactivate, defaultProduct, edit, remove } from './domain/product.js';
import { type ProductRow, products } from './tables.js';
import { productView } from './views.js';

@Controller()
export class Products {
  constructor(private readonly db: Db) {}

  @Handle(newProduct)
  create({ status, usVATConfig, ...texts }: In<typeof newProduct>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const [id] = await Promise.all([tx.nextId(products), keepDefault(tx)]);
      const product: ProductRow = {
        ...texts,
        merchantId: tx.merchantId,
        id,
        version: 0,
        status: nameOfCode(productStatus, status),
        usVatConfig: usVatConfigOf(usVATConfig),
        createTime: tx.now,
        modifyTime: tx.now,
        deletedTime: 0,
        sortName: sortNameOf(texts.productName),
      };
      return { product: tx.step(productAggregate, product, 'product.created', { log: 'New' }).view };
    });
  }

  @Handle(copyProduct)
  copy({ productId }: In<typeof copyProduct>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const [original, id] = await Promise.all([findProduct(tx, productId), tx.nextId(products), keepDefault(tx)]);
      const copy = { ...original, id, version: 0, createTime: tx.now, modifyTime: tx.now };
      return { product: tx.step(productAggregate, copy, 'product.created', { log: `Copy: ${productId}` }).view };
    });
  }

  @Handle(activateProduct)
  activate({ productId }: In<typeof activateProduct>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const activated = activate(await lockProduct(tx, productId), tx.now);
      if (activated) tx.step(productAggregate, activated, 'product.activated', { log: 'Activate' });
      return {};
    });
  }

  @Handle(inactivateProduct)
  inactivate({ productId }: In<typeof inactivateProduct>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const inactivated = deactivate(await lockProduct(tx, productId), tx.now);
      if (inactivated) tx.step(productAggregate, inactivated, 'product.inactivated', { log: 'Inactivate' });
      return {};
    });
  }

  @Handle(deleteProduct)
  delete({ productId }: In<typeof deleteProduct>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const product = await lockProduct(tx, productId);
      const deleted = remove(product, await plansOfProduct(tx, productId), tx.now);
      tx.step(productAggregate, deleted, 'product.deleted', { log: 'Delete' });
      return {};
    });
  }

  @Handle(editProduct)
  edit({ productId, status, usVATConfig, ...texts }: In<typeof editProduct>, caller: Caller) {
    const sent = {
      ...texts,
      ...(status !== undefined && { status: nameOfCode(productStatus, status) }),
      ...(usVATConfig && { usVatConfig: usVatConfigOf(usVATConfig) }),
      ...(texts.productName !== undefined && { sortName: sortNameOf(texts.productName) }),
    };
    return this.db.write(caller, async tx => {
      const product = await lockProduct(tx, productId);
      const edited = edit(product, sent, tx.now);
      if (!edited) return { product: productView(product) };
      return { product: tx.step(productAggregate, edited, 'product.updated', { log: 'Edit' }).view };
    });
  }

  @Handle(productDetail)
  detail({ productId }: In<typeof productDetail>, caller: Caller) {
    return this.db.read(caller, async reader => ({ product: productView(await findProduct(reader, productId)) }));
  }

  @Handle(listProducts)
  list({ status, page, count, ...sorting }: In<typeof listProducts>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const newest = !sorting.sortField || sorting.sortField === 'createTime';
      const statuses = namesOf(productStatus, given(status));
      const { rows, total } = await reader.page({
        from: products,
        where: [['deleted_time = ?', 0], ...conditions(newest, [['status', statuses]], [])],
        order: sorted(productOrders, sorting),
        page,
        count,
        covered: true,
      });
      if (total > 0 || (await reader.find(products, { id: DEFAULT_PRODUCT }))) {
        return { products: rows.map(productView), total };
      }
      const alone = withoutRow(reader.merchantId, DEFAULT_PRODUCT);
      const isListed = !statuses || statuses.includes(alone.status);
      return { products: isListed && page === 0 ? [productView(alone)] : [], total: isListed ? 1 : 0 };
    });
  }
}

const productOrders = { createTime: 'create_time', productName: 'sort_name', modifyTime: 'modify_time' };

const keepDefaultText = `insert into products (merchant_id, id, version, status, product_name, description, home_url,
    image_url, metadata, create_time, modify_time, deleted_time, sort_name)
  values ($1, ${DEFAULT_PRODUCT}, 0, $2, $3, '', '', '', '{}', 0, 0, 0, $4) on conflict do nothing`;

/** Gives the default product a row, so that lists have it beside those that are made. No event: it is as it came. */
async function keepDefault(tx: Tx): Promise<void> {
  const { status, productName, sortName } = withoutRow(tx.merchantId, DEFAULT_PRODUCT);
  await tx.run(keepDefaultText, [tx.merchantId, status, productName, sortName]);
}

/** Locks a product that is not deleted. The default one may have no row yet: its first change inserts it. */
async function lockProduct(tx: Tx, id: number): Promise<ProductRow> {
  tx.onConflict('products_pkey', 'again');
  return (await tx.lockIfAny(productAggregate, { id, deletedTime: 0 })) ?? withoutRow(tx.merchantId, id);
}

/** Locks a plan's product so that it is not deleted before the plan is committed; the default one cannot be deleted. */
export async function holdProduct(tx: Tx, id: number): Promise<void> {
  if (id !== DEFAULT_PRODUCT) await tx.lock(products, { id, deletedTime: 0 }, 'product_not_found');
}

/** Views of the products with these ids by id; deleted products are left out, the default one exists without a row. */
export async function productsAmong(reader: Reader, ids: readonly number[]): Promise<Map<number, Product>> {
  const rows = await reader.among(products, 'id', ids);
  const views = new Map(rows.filter(({ deletedTime }) => deletedTime === 0).map(row => [row.id, productView(row)]));
  if (ids.includes(DEFAULT_PRODUCT) && !views.has(DEFAULT_PRODUCT)) {
    views.set(DEFAULT_PRODUCT, productView(withoutRow(reader.merchantId, DEFAULT_PRODUCT)));
  }
  return views;
}

/** A product that is not deleted, else Rejected `product_not_found`. The default product exists without a row. */
async function findProduct(reader: Reader, id: number): Promise<ProductRow> {
  return (await reader.find(products, { id, deletedTime: 0 })) ?? withoutRow(reader.merchantId, id);
}

/** State of a product that has no row: only the default one exists without. */
function withoutRow(merchantId: number, id: number): ProductRow {
  if (id !== DEFAULT_PRODUCT) throw new Rejected('product_not_found');
  const product = defaultProduct(merchantId);
  return { ...product, usVatConfig: null, sortName: sortNameOf(product.productName) };
}
