import { events } from '@recur/contracts';
import { aggregate } from '@recur/platform';
import { checkouts } from './tables.js';
import { checkoutView } from './views.js';

export const checkoutAggregate = aggregate({
  name: 'checkout',
  title: 'Checkout',
  events,
  table: checkouts,
  key: 'id',
  view: checkoutView,
});
