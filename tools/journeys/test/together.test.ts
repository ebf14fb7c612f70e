import { readdirSync } from 'node:fs';
import { afterAll } from '@jest/globals';
import { sharedStand } from './stand.js';

// Journeys that stop nothing, each with merchants of its own: a stand for each would take as long as all of them.
for (const file of readdirSync(new URL('together', import.meta.url))) await import(`./together/${file}`);

afterAll(async () => (await sharedStand()).close());
