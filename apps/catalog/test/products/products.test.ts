import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  activatePlan,
  activateProduct,
  archivePlan,
  copyProduct,
  defaultProduct,
  deletePlan,
  deleteProduct,
  editProduct,
  emptyOf,
  inactivateProduct,
  listProducts,
  newPlan,
  newProduct,
  Product,
  planDetail,
  productDetail,
} from '@recur/contracts';
import { type TestService, testService } from '@recur/platform/testing';
import { catalog } from '../../src/service.js';

let t: TestService;

beforeAll(async () => {
  t = await testService(catalog);
});
afterAll(() => t.close());
beforeEach(() => t.emitted());

const types = async () => (await t.emitted()).map(({ type, aggregateId, version }) => [type, aggregateId, version]);

async function inactive(caller = {}): Promise<number> {
  const { product } = await t.done(newProduct, { productName: 'Seats', status: 2 }, caller);
  await t.emitted();
  return product.id;
}

describe('product/new', () => {
  it('makes an active product, tells others, and logs it', async () => {
    const { product } = await t.done(newProduct, {
      productName: 'Seats',
      description: 'By the seat',
      homeUrl: 'https://example.com',
      metadata: { tier: 'b' },
      usVATConfig: { active: true, fromAddress: { zipCode: '94103' } },
    });
    const address = { address: '', city: '', countryCode: '', state: '', zipCode: '94103', verified: false };
    expect(product).toEqual({
      ...emptyOf(Product),
      id: product.id,
      merchantId: 15,
      createTime: Date.UTC(2026, 0, 15, 12) / 1000,
      productName: 'Seats',
      description: 'By the seat',
      homeUrl: 'https://example.com',
      metaData: '{"tier":"b"}',
      status: 1,
      usVATConfig: {
        active: true,
        sellOnUSOnly: false,
        fromAddress: address,
        toAddress: null,
        nexusAddresses: [],
        taxCode: '',
      },
    });
    const [created, logged, ...more] = await t.emitted();
    expect(created).toMatchObject({ type: 'product.created', aggregateId: String(product.id), version: 1 });
    expect(created?.data).toEqual(product);
    expect(logged).toMatchObject({
      type: 'operation.logged',
      data: { target: `Product(${product.id})`, content: 'New', ids: {} },
    });
    expect(more).toEqual([]);
    expect(await t.rows('select status, version, deleted_time from products where id = $1', [product.id])).toEqual([
      { status: 'active', version: 1, deleted_time: '0' },
    ]);
  });

  it('makes an inactive one where that is asked, and needs no field', async () => {
    expect((await t.done(newProduct, { status: 2 })).product).toMatchObject({ status: 2, metaData: '{}' });
  });

  it('answers the text of metadata as it is answered ever after', async () => {
    const metadata = { region: 'eu', b: [{ z: 1, a: null }], '10': 'ten', '9': 'nine' };
    const { product } = await t.done(newProduct, { metadata });
    expect(JSON.parse(product.metaData)).toEqual(metadata);
    const { id: productId } = product;
    expect((await t.done(productDetail, { productId })).product.metaData).toBe(product.metaData);
    expect((await t.done(editProduct, { productId, metadata })).product.metaData).toBe(product.metaData);
  });

  it('names every field that is wrong', async () => {
    const result = await t.call(newProduct, { status: 3, homeUrl: 1, metadata: [], productName: 7 });
    expect(result).toMatchObject({ ok: false, slug: 'invalid_parameters' });
    const paths = result.ok ? [] : result.issues.map(({ path }) => path);
    expect(paths.sort()).toEqual(['/homeUrl', '/metadata', '/productName', '/status']);
    expect(await types()).toEqual([]);
  });

  it('makes one product of two requests with one key', async () => {
    const input = { productName: 'Once' };
    const first = await t.done(newProduct, input, { idempotencyKey: 'product' });
    expect(await t.call(newProduct, input, { idempotencyKey: 'product' })).toMatchObject({ ok: true, data: first });
    expect(await t.rows(`select 1 from products where product_name = 'Once'`)).toHaveLength(1);
  });
});

describe('product/activate', () => {
  it('activates once', async () => {
    const productId = await inactive();
    expect(await t.done(activateProduct, { productId })).toEqual({});
    const [activated, logged] = await t.emitted();
    expect(activated).toMatchObject({ type: 'product.activated', version: 2, data: { id: productId, status: 1 } });
    expect(logged).toMatchObject({ data: { target: `Product(${productId})`, content: 'Activate' } });
    expect(await t.done(activateProduct, { productId })).toEqual({});
    expect(await types()).toEqual([]);
  });

  it('activates once however many ask at the same time', async () => {
    const productId = await inactive();
    await Promise.all(Array.from({ length: 64 }, () => t.done(activateProduct, { productId })));
    expect((await types()).map(([type]) => type)).toEqual(['product.activated', 'operation.logged']);
  });

  it('has nothing to do for the default product', async () => {
    expect(await t.done(activateProduct, { productId: 0 }, { merchantId: 99 })).toEqual({});
    expect(await types()).toEqual([]);
    expect(await t.rows('select 1 from products where merchant_id = 99')).toEqual([]);
  });

  it("knows no other merchant's product, no unknown and no deleted one, and says so alike", async () => {
    const [own, other] = [await inactive(), await inactive({ merchantId: 16 })];
    await t.rows('update products set deleted_time = 1 where id = $1', [own]);
    const unknown = await t.call(activateProduct, { productId: 9_000_000 });
    expect(unknown).toMatchObject({ ok: false, slug: 'product_not_found' });
    for (const productId of [own, other, -1]) expect(await t.call(activateProduct, { productId })).toEqual(unknown);
    expect(await t.rows('select status from products where id = $1', [other])).toEqual([{ status: 'inactive' }]);
  });

  it.each([[{}], [{ productId: '1' }], [{ productId: 1.5 }], [{ productId: null }]])('refuses %j', async input => {
    expect(await t.call(activateProduct, input)).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path: '/productId' }],
    });
  });
});

const plan = { amount: 999, currency: 'USD', planName: 'Basic', intervalUnit: 'month', intervalCount: 1 };
const of64 = <R>(run: () => Promise<R>) => Promise.all(Array.from({ length: 64 }, run));

describe('product/inactivate', () => {
  it('is done once however many ask, and undone by product/activate', async () => {
    const { product } = await t.done(newProduct, {});
    await t.emitted();
    const { id: productId } = product;
    await of64(() => t.done(inactivateProduct, { productId }));
    const [inactivated, logged, ...more] = await t.emitted();
    expect(inactivated).toMatchObject({ type: 'product.inactivated', version: 2, data: { ...product, status: 2 } });
    expect(logged).toMatchObject({ data: { target: `Product(${productId})`, content: 'Inactivate' } });
    expect(more).toEqual([]);
    await t.done(activateProduct, { productId });
    expect((await t.done(productDetail, { productId })).product).toEqual(product);
  });

  it('gives the default product its row', async () => {
    const caller = { merchantId: 31 };
    await t.done(inactivateProduct, { productId: 0 }, caller);
    expect((await types()).map(([type, id, version]) => [type, id, version])[0]).toEqual([
      'product.inactivated',
      '0',
      1,
    ]);
    expect((await t.done(productDetail, { productId: 0 }, caller)).product).toMatchObject({
      productName: 'Default',
      status: 2,
    });
  });
});

describe('product/copy', () => {
  it('makes a product like the other, without its plans', async () => {
    const usVATConfig = { active: true, taxCode: 'SW' };
    const given = { productName: 'Seats', description: 'By the seat', metadata: { a: 1 }, status: 2, usVATConfig };
    const { product } = await t.done(newProduct, given);
    await t.done(newPlan, { ...plan, productId: product.id });
    await t.emitted();
    const { product: copy } = await t.done(copyProduct, { productId: product.id });
    expect(copy).toEqual({ ...product, id: copy.id });
    expect(copy.id).not.toBe(product.id);
    const [created, logged, ...more] = await t.emitted();
    expect(created).toMatchObject({ type: 'product.created', version: 1, data: copy });
    expect(logged).toMatchObject({ data: { target: `Product(${copy.id})`, content: `Copy: ${product.id}` } });
    expect(more).toEqual([]);
    expect(await t.done(deleteProduct, { productId: copy.id })).toEqual({});
  });

  it('takes the default product for one as well', async () => {
    const caller = { merchantId: 32 };
    const { product } = await t.done(copyProduct, { productId: 0 }, caller);
    expect(product).toMatchObject({ productName: 'Default', status: 1, createTime: Date.UTC(2026, 0, 15, 12) / 1000 });
    expect((await t.done(listProducts, {}, caller)).products).toEqual([product, defaultProduct(caller.merchantId)]);
  });
});

describe('product/delete', () => {
  it('takes a product away, for everybody', async () => {
    const { product } = await t.done(newProduct, { productName: 'Gone' });
    const { id: productId } = product;
    await t.emitted();
    expect(await t.done(deleteProduct, { productId })).toEqual({});
    const [deleted, logged, ...more] = await t.emitted();
    expect(deleted).toMatchObject({ type: 'product.deleted', version: 2 });
    expect(deleted?.data).toEqual({ ...product, isDeleted: Date.UTC(2026, 0, 15, 12) / 1000 });
    expect(logged).toMatchObject({ data: { target: `Product(${productId})`, content: 'Delete' } });
    expect(more).toEqual([]);
    for (const operation of [
      productDetail,
      editProduct,
      activateProduct,
      inactivateProduct,
      copyProduct,
      deleteProduct,
    ]) {
      const unknown = await t.call(operation, { productId: 9_000_000 });
      expect(unknown).toMatchObject({ slug: 'product_not_found' });
      expect(await t.call(operation, { productId })).toEqual(unknown);
    }
    expect(await t.call(newPlan, { ...plan, productId })).toMatchObject({ slug: 'product_not_found' });
    const { products } = await t.done(listProducts, { count: 100 });
    expect(products.map(({ id }) => id)).not.toContain(productId);
  });

  it('is refused for the default product, and while a plan may be sold, naming the plans', async () => {
    expect(await t.call(deleteProduct, { productId: 0 })).toMatchObject({
      slug: 'product_not_deletable',
      message: 'Product 0 is the default one: cannot delete it',
    });
    const { product } = await t.done(newProduct, {});
    const { id: productId } = product;
    const one = (await t.done(newPlan, { ...plan, productId })).plan.id;
    const two = (await t.done(newPlan, { ...plan, productId })).plan.id;
    await t.done(activatePlan, { planId: two });
    const message = (ids: string) => `Product ${productId} has plans ${ids}: cannot delete it`;
    expect(await t.call(deleteProduct, { productId })).toMatchObject({
      slug: 'product_not_deletable',
      message: message(`${one}, ${two}`),
    });
    await t.done(deletePlan, { planId: one });
    await t.done(archivePlan, { planId: two });
    expect(await t.call(deleteProduct, { productId })).toMatchObject({ message: message(`${two}`) });
    await t.done(archivePlan, { planId: two, hardArchive: true });
    await t.done(deleteProduct, { productId });
    expect((await t.done(planDetail, { planId: two })).plan.product).toBeNull();
  });

  it('is done once however many ask; and no plan is left with a product that is gone', async () => {
    const { product } = await t.done(newProduct, {});
    const results = await of64(() => t.call(deleteProduct, { productId: product.id }));
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    const rounds = await Promise.all(
      Array.from({ length: 32 }, async () => {
        const { id: productId } = (await t.done(newProduct, {})).product;
        const [made, deleted] = await Promise.all([
          t.call(newPlan, { ...plan, productId }),
          t.call(deleteProduct, { productId }),
        ]);
        return [made.ok ? 'made' : made.slug, deleted.ok ? 'deleted' : deleted.slug].join();
      }),
    );
    for (const round of rounds) expect(['made,product_not_deletable', 'product_not_found,deleted']).toContain(round);
  });
});

describe('product/list', () => {
  it('shows the default product, alone and beside others, as product/detail does', async () => {
    const caller = { merchantId: 34 };
    const listed = (input: object = {}) => t.done(listProducts, input, caller);
    const { product: alone } = await t.done(productDetail, { productId: 0 }, caller);
    expect(alone).toEqual(defaultProduct(34));
    expect(await listed()).toEqual({ products: [alone], total: 1 });
    expect(await listed({ page: 1 })).toEqual({ products: [], total: 1 });
    expect(await listed({ status: [2] })).toEqual({ products: [], total: 0 });
    const { product } = await t.done(newProduct, { productName: 'Zeal' }, caller);
    for (const sortField of ['', 'createTime', 'create_time', 'gmt_create', 'gmt_modify', 'product_name']) {
      expect(await listed({ sortField })).toEqual({ products: [product, alone], total: 2 });
      expect(await listed({ sortField, sortType: 'asc' })).toEqual({ products: [alone, product], total: 2 });
    }
    await t.done(editProduct, { productId: 0, productName: 'Standard' }, caller);
    expect((await listed({ sortField: 'gmt_modify' })).products.map(({ productName }) => productName)).toContain(
      'Standard',
    );
    expect(await t.call(listProducts, { sortField: 'price' }, caller)).toMatchObject({
      issues: [{ path: '/sortField' }],
    });
  });

  it('sorts by name whatever its case and length', async () => {
    const caller = { merchantId: 33 };
    const names = ['b', 'A', 'C', `a${'😀'.repeat(999)}`];
    for (const productName of names) await t.done(newProduct, { productName }, caller);
    const listed = async (more: object = {}) =>
      (await t.done(listProducts, { sortField: 'productName', ...more }, caller)).products;
    const sorted = ['A', names[3], 'b', 'C', 'Default'];
    expect((await listed({ sortType: 'asc' })).map(({ productName }) => productName)).toEqual(sorted);
    expect((await listed()).map(({ productName }) => productName)).toEqual(sorted.toReversed());
    const [, last] = await listed();
    await t.done(editProduct, { productId: last?.id, productName: '0', status: 2 }, caller);
    const renamed = (await listed({ sortType: 'asc' })).map(({ productName }) => productName);
    expect(renamed).toEqual(['0', 'A', names[3], 'b', 'Default']);
    expect((await listed({ status: [2, 1], count: 1, page: 4 })).map(({ id }) => id)).toEqual([last?.id]);
    expect((await listed({ status: [2] })).map(({ id }) => id)).toEqual([last?.id]);
  });
});
