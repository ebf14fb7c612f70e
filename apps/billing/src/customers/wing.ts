import type { Wing } from '@recur/platform';
import { checkouts, merchants, metrics, plans, products, users } from './tables.js';

/** Copies of the merchants, users, plans, products and metrics that billing computes with. */
export const customersWing: Wing = {
  tables: [users, plans, merchants, products, checkouts, metrics],
};
