import { describe, expect, it } from '@jest/globals';
import { parseVatNumber } from '../../src/tax/vat-number.js';

describe('a VAT number', () => {
  it.each([
    'ATU13585627',
    'BE0403019261',
    'BG175074752',
    'CY10259033P',
    'CZ25123891',
    'DE136695976',
    'DK13585628',
    'EE100931558',
    'EL094259216',
    'ESB58378431',
    'FI20774740',
    'FR40303265045',
    'HR33392005961',
    'HU12892312',
    'IE6433435F',
    'IT00743110157',
    'LT119511515',
    'LU15027442',
    'LV40003521600',
    'MT11679112',
    'NL004495445B01',
    'PL8567346215',
    'PT501964843',
    'RO18547290',
    'SE123456789701',
    'SI50223054',
    'SK2022749619',
    'XI980780684',
  ])('%s of an EU register is well-formed, and not with another digit in one place', async number => {
    const parsed = await parseVatNumber(number);
    expect(parsed).toMatchObject({ number, wellFormed: true, inVies: true, prefix: number.slice(0, 2) });
    expect(parsed.countryCode).toBe({ EL: 'GR', XI: 'GB' }[parsed.prefix] ?? parsed.prefix);
    const others = await Promise.all(
      Array.from({ length: 10 }, (_, digit) => parseVatNumber(`${number.slice(0, 8)}${digit}${number.slice(9)}`)),
    );
    expect(others.filter(({ wellFormed }) => wellFormed).length).toBeLessThan(4);
  });

  it('is read with spaces, dots, dashes, small letters and the ISO code of Greece', async () => {
    for (const text of ['el 094 259 216', 'EL-094.259.216', 'GR094259216']) {
      expect(await parseVatNumber(text)).toMatchObject({ number: 'EL094259216', countryCode: 'GR', wellFormed: true });
    }
    expect(await parseVatNumber('BE 403.019.261')).toMatchObject({ number: 'BE0403019261', wellFormed: true });
  });

  it('of the United Kingdom, Norway or Iceland is checked, and not in VIES', async () => {
    expect(await parseVatNumber('GB980780684')).toMatchObject({ countryCode: 'GB', wellFormed: true, inVies: false });
    expect(await parseVatNumber('NO995525828MVA')).toMatchObject({
      countryCode: 'NO',
      wellFormed: true,
      inVies: false,
    });
  });

  it.each(['', '136695976', 'US123456789', 'X', 'EU826010755', '§$%'])('%j has no prefix that is known', async text => {
    expect(await parseVatNumber(text)).toMatchObject({ countryCode: '', wellFormed: false, inVies: false });
  });

  it.each(['DE', 'DE1366959', 'DE136695977', 'ATU1358562X', 'EL09425921', 'XI'])('%s is malformed', async text => {
    expect(await parseVatNumber(text)).toMatchObject({ number: text, wellFormed: false });
  });
});
