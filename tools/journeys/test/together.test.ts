import { afterAll, jest } from '@jest/globals';
import { sharedStand } from './stand.js';
import './automation.js';
import './rates.js';
import './sign-in.js';
import './tenancy.js';

// Journeys that stop nothing, each with merchants of its own: a stand for each would take as long as all of them.

jest.setTimeout(120_000);

afterAll(async () => (await sharedStand()).close());
