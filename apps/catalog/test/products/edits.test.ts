import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { activateProduct, editProduct, listProducts, newPlan, newProduct, productDetail } from '@recur/contracts';
import { type TestService, testService } from '@recur/platform/testing';
import { catalog } from '../../src/service.js';

let t: TestService;
const monthly = { amount: 999, currency: 'USD', planName: 'Basic', intervalUnit: 'month', intervalCount: 1 };

beforeAll(async () => {
  t = await testService(catalog);
});
afterAll(() => t.close());
beforeEach(() => t.emitted());

const planOf = async (more: object = {}, caller = {}) => (await t.done(newPlan, { ...monthly, ...more }, caller)).plan;
const productOf = async (more: object = {}) => (await t.done(newProduct, { productName: 'Seats', ...more })).product;
const types = async () => (await t.emitted()).map(({ type, version }) => `${type} ${version}`);
describe('product/edit', () => {
  it('changes what is sent, and nothing else', async () => {
    const product = await productOf({ description: 'as it was', metadata: { a: 1, b: 2 } });
    await t.emitted();
    const sent = { productId: product.id, productName: 'Chairs', status: 2, metadata: { b: 3 } };
    const { product: edited } = await t.done(editProduct, sent);
    expect(edited).toEqual({ ...product, productName: 'Chairs', status: 2, metaData: '{"b":3}' });
    expect(await types()).toEqual(['product.updated 2', 'operation.logged 1']);
    expect(await t.done(productDetail, { productId: product.id })).toEqual({ product: edited });
    expect(await t.done(editProduct, sent)).toEqual({ product: edited });
    expect(await types()).toEqual([]);
  });

  it('takes the tax configuration that it has answered', async () => {
    const product = await productOf({ usVATConfig: { active: true, taxCode: 'SW' } });
    const { id: productId, usVATConfig } = product;
    await t.emitted();
    expect(usVATConfig).toMatchObject({ fromAddress: null, toAddress: null });
    expect(await t.done(editProduct, { productId, usVATConfig })).toEqual({ product });
    expect((await planOf({ usVATConfig })).usVATConfig).toEqual(usVATConfig);
  });

  it('refuses a blank name, an unknown status and an unknown product', async () => {
    const { id: productId } = await productOf();
    const wrong = await t.call(editProduct, { productId, productName: ' ', status: 3 });
    expect(!wrong.ok && wrong.issues.map(({ path }) => path)).toEqual(['/productName', '/status']);
    expect(await t.call(editProduct, { productId: 9_999, productName: 'x' })).toMatchObject({
      slug: 'product_not_found',
    });
    expect(await t.call(editProduct, { productId }, { merchantId: 16 })).toMatchObject({ slug: 'product_not_found' });
  });

  it('edits the default product, which is there without a row; all at once, too', async () => {
    const caller = { merchantId: 21 };
    const { product } = await t.done(productDetail, { productId: 0 }, caller);
    expect(product).toMatchObject({ id: 0, merchantId: 21, productName: 'Default', status: 1 });
    await t.done(editProduct, { productId: 0, productName: 'Default' }, caller);
    expect(await types()).toEqual([]);
    const all = Array.from({ length: 16 }, (_, at) =>
      t.done(editProduct, { productId: 0, productName: `Name ${at}`, status: 2 }, caller),
    );
    await Promise.all(all);
    const events = await t.emitted();
    const versions = events.filter(({ type }) => type === 'product.updated').map(({ version }) => version);
    expect(versions.sort((a, b) => a - b)).toEqual(all.map((_, at) => at + 1));
    expect((await t.done(listProducts, {}, caller)).products).toMatchObject([{ id: 0, status: 2 }]);
    expect((await t.done(listProducts, { status: [1] }, caller)).products).toEqual([]);
    await t.done(activateProduct, { productId: 0 }, caller);
    expect(await types()).toEqual([`product.activated ${all.length + 1}`, 'operation.logged 1']);
  });
});
