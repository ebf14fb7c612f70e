import { events } from '@recur/contracts';
import { aggregate } from '@recur/platform';
import { products } from './tables.js';
import { productView } from './views.js';

export const productAggregate = aggregate({
  name: 'product',
  title: 'Product',
  events,
  table: products,
  key: 'id',
  view: productView,
});
