import { expect, it } from '@jest/globals';
import { declared, faults } from '../suite/provoked.js';

it('finds declared errors and events that no test provoked, and exceptions that are not needed', () => {
  const all = ['error invoice.new user_not_found', 'error invoice.eat invoice_eaten', 'event invoice.paid'];
  expect(faults(all, new Set(all), {})).toEqual([]);
  expect(faults(all, new Set(all.slice(0, 1)), { 'event invoice.paid': 'later' })).toEqual([
    'error invoice.eat invoice_eaten is provoked by no test',
  ]);
  expect(faults(all, new Set(all), { 'event invoice.paid': 'later', 'event x': 'gone' })).toEqual([
    'event invoice.paid is provoked or not declared: remove it from tools/suite/notProvoked.ts',
    'event x is provoked or not declared: remove it from tools/suite/notProvoked.ts',
  ]);
});

it('looks at every error of an operation and every event that is emitted', () => {
  expect(declared()).toEqual(expect.arrayContaining(['error invoice.detail invoice_not_found', 'event invoice.paid']));
});
