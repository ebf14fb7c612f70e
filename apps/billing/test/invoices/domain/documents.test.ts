import { describe, expect, it } from '@jest/globals';
import { refundStatus } from '@recur/contracts';
import { creditRechargeLifecycle } from '../../../src/credits/domain/account.js';
import { refundLifecycle } from '../../../src/invoices/domain/refund.js';
import { defaultPrefixes, documentNumber, isNumbered } from '../../../src/invoices/numbers.js';

const legal = (table: Record<string, Record<string, string>>) =>
  Object.entries(table).flatMap(([state, moves]) =>
    Object.entries(moves).map(([move, next]) => `${state} ${move} ${next}`),
  );

describe('the lifecycle of a refund', () => {
  it('has the states of the API and these moves', () => {
    expect(refundLifecycle.states).toEqual(Object.keys(refundStatus));
    expect(legal(refundLifecycle.table)).toEqual([
      'created succeed success',
      'created fail failed',
      'created cancel cancelled',
      'success reverse reversed',
    ]);
  });
});

describe('the lifecycle of a credit recharge', () => {
  it('has three states and two moves', () => {
    expect(creditRechargeLifecycle.states).toEqual(['created', 'success', 'failed']);
    expect(legal(creditRechargeLifecycle.table)).toEqual(['created succeed success', 'created fail failed']);
  });
});

describe('document numbers', () => {
  it('are a prefix and at least six digits', () => {
    expect(documentNumber(defaultPrefixes.invoice, 1)).toBe('INV-000001');
    expect(documentNumber(defaultPrefixes.creditNote, 1)).toBe('CN-000001');
    expect(documentNumber('R', 12_345_678)).toBe('R12345678');
  });

  it('are not for zero invoices that a merchant does not show', () => {
    expect([isNumbered(0n, true), isNumbered(0n, false), isNumbered(-1n, false)]).toEqual([true, false, true]);
  });
});
