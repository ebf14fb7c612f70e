/**
 * fast-check as tests import it: what it draws follows from the seed of the test run, which is printed and can be given
 * (npm test -- --seed N), unless a property names a seed of its own.
 */
import { jest } from '@jest/globals';
import fc from '../../node_modules/fast-check/lib/fast-check.js';

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: jest.getSeed() });

export * from '../../node_modules/fast-check/lib/fast-check.js';
export default fc;
