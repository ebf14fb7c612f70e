import { readdirSync } from 'node:fs';
import { afterAll, afterEach, jest } from '@jest/globals';
import { closePages, leavePages } from './pages/seller.js';
import { sharedStand } from './stand.js';

// Journeys that stop nothing, each with merchants of its own: a stand for each would take as long as all of them.
for (const file of readdirSync(new URL('together', import.meta.url))) await import(`./together/${file}`);

jest.setTimeout(120_000);

afterEach(leavePages);
afterAll(async () => {
  await closePages();
  await (await sharedStand()).close();
});
