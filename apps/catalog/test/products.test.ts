import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { activateProduct, emptyOf, newProduct, Product } from '@recur/contracts';
import { type TestService, testService } from '@recur/platform/testing';
import { catalog } from '../src/service.js';

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
