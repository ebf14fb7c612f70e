import { describe, expect, it } from '@jest/globals';
import { Rejected } from '@recur/kernel';
import { activate, deactivate, type Product, productLifecycle, remove } from '../../../src/products/domain/product.js';

const product: Product = {
  id: 2,
  merchantId: 15,
  version: 3,
  status: 'inactive',
  productName: 'Seats',
  description: '',
  homeUrl: '',
  imageUrl: '',
  metadata: {},
  usVatConfig: null,
  createTime: 1000,
  modifyTime: 1000,
  deletedTime: 0,
};

describe('activating a product', () => {
  it('makes it active, once', () => {
    const active = activate(product, 2000);
    expect(active).toEqual({ ...product, status: 'active', modifyTime: 2000 });
    expect(active && activate(active, 3000)).toBeUndefined();
  });

  it('has the two states to go between', () => {
    expect(productLifecycle.states).toEqual(['active', 'inactive']);
    expect(productLifecycle.next('active', 'deactivate')).toBe('inactive');
    expect(productLifecycle.next('inactive', 'deactivate')).toBeUndefined();
  });
});

describe('a product', () => {
  it('is made inactive once', () => {
    const active: Product = { ...product, status: 'active' };
    const inactive = deactivate(active, 2000);
    expect(inactive).toEqual({ ...product, modifyTime: 2000 });
    expect(inactive && deactivate(inactive, 3000)).toBeUndefined();
  });

  it('is deleted where it has no plan that is sold or may be, and is not the default one', () => {
    expect(remove(product, [], 2000)).toEqual({ ...product, modifyTime: 2000, deletedTime: 2000 });
    const refused = (of: Product, plans: number[]) => {
      try {
        return remove(of, plans, 2000);
      } catch (error) {
        return error;
      }
    };
    for (const [outcome, message] of [
      [refused(product, [7, 9]), 'Product 2 has plans 7, 9: cannot delete it'],
      [refused({ ...product, id: 0 }, []), 'Product 0 is the default one: cannot delete it'],
    ]) {
      expect(outcome).toBeInstanceOf(Rejected);
      expect(outcome).toMatchObject({ slug: 'product_not_deletable', message });
    }
  });
});
