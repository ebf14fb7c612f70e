import { closedAfterwards } from './seller.js';

// both walk the pages of one seller: a stack of its own for each would take as long as its walk
await import('./checkout.js');
await import('./portal.js');

closedAfterwards();
