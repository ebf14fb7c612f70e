import { describe, expect, it } from '@jest/globals';
import { qrModules } from '../../src/documents/pdf/payment.js';
import { sepaPayload } from '../../src/documents/sepa.js';

const transfer = {
  name: 'Northwind Software GmbH',
  iban: 'DE89 3704 0044 0532 0130 00',
  bic: 'COBADEFFXXX',
  currency: 'EUR',
  amount: 11_900n,
  reference: 'INV-000042',
};

describe('the payload of a SEPA QR code', () => {
  it('has the lines of EPC069-12', () => {
    expect(sepaPayload(transfer)?.split('\n')).toEqual([
      'BCD',
      '002',
      '1',
      'SCT',
      'COBADEFFXXX',
      'Northwind Software GmbH',
      'DE89370400440532013000',
      'EUR119.00',
      '',
      '',
      'INV-000042',
    ]);
  });

  it('leaves out a BIC that is none', () => {
    expect(sepaPayload({ ...transfer, bic: 'BANK' })?.split('\n')[4]).toBe('');
  });

  it('keeps names and references to their lengths, and to one line', () => {
    const lines =
      sepaPayload({ ...transfer, name: `A\n${'b'.repeat(90)}`, reference: 'r'.repeat(200) })?.split('\n') ?? [];
    expect(lines[5]).toBe(`A ${'b'.repeat(68)}`);
    expect(lines[10]).toHaveLength(140);
  });

  it.each([
    ['another currency', { currency: 'USD' }],
    ['an IBAN with a wrong check digit', { iban: 'DE88370400440532013000' }],
    ['no IBAN', { iban: '' }],
    ['no account holder', { name: ' ' }],
    ['nothing to pay', { amount: 0n }],
    ['an amount past 999 999 999.99', { amount: 100_000_000_000n }],
    ['more than 331 bytes', { name: '名'.repeat(70), reference: '名'.repeat(140) }],
  ])('is absent with %s', (_, over) => {
    expect(sepaPayload({ ...transfer, ...over })).toBeUndefined();
  });

  it('becomes a square of modules, at most version 13', () => {
    const modules = qrModules(sepaPayload({ ...transfer, reference: 'r'.repeat(140) }) ?? '');
    expect(modules.length).toBeLessThanOrEqual(69);
    expect(modules.every(row => row.length === modules.length)).toBe(true);
    // the finder pattern of the top left corner
    expect(modules[0]?.slice(0, 8)).toEqual([true, true, true, true, true, true, true, false]);
  });
});
