import { describe, expect, it } from '@jest/globals';
import { activate, type Product, productLifecycle } from '../../src/domain/product.js';

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
