import { againstLocalstripe } from './localstripe.js';
import { againstStripeMock } from './stripe-mock.js';

// jest runs this file alone, as the project "stripe" of jest.config.mjs: only where an address is told
const { STRIPE_MOCK_URL, LOCALSTRIPE_URL } = process.env;
if (STRIPE_MOCK_URL) againstStripeMock(STRIPE_MOCK_URL);
if (LOCALSTRIPE_URL) againstLocalstripe(LOCALSTRIPE_URL);
