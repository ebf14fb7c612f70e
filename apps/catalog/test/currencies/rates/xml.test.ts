import { describe, expect, it } from '@jest/globals';
import { crossRate, rateOf, rateText } from '@recur/kernel';
import { pairsOf } from '../../../src/currencies/domain/rate-table.js';
import { limits, readRates } from '../../../src/currencies/rates/xml.js';
import { dayOf, envelopeOf, fileOf } from './files.js';

const at = Date.UTC(2026, 0, 15) / 1000;
const some = { USD: '1.0456', JPY: '163.21' };
const plain = (read: ReturnType<typeof readRates>) =>
  read.table ? Object.fromEntries([...read.table.rates].map(([to, rate]) => [to, rateText(rate)])) : read.problem;

describe('a file of rates', () => {
  it('is read as the bank publishes it', () => {
    const { table } = readRates(fileOf('2026-01-15', some));
    expect(table).toMatchObject({ source: 'European Central Bank', at, base: 'EUR' });
    expect(plain(readRates(fileOf('2026-01-15', some)))).toEqual(some);
  });

  it('of several days is read for the newest', () => {
    const days = [dayOf('2026-01-14', { USD: '1.1' }), dayOf('2026-01-15', some), dayOf('2025-12-31', { USD: '1.2' })];
    expect(plain(readRates(envelopeOf(...days)))).toEqual(some);
  });

  it('may name currencies that are gone, and the euro itself', () => {
    expect(plain(readRates(fileOf('2026-01-15', { ...some, BGN: '1.9558', EUR: '1' })))).toEqual(some);
  });

  it.each([
    ['nothing', '', /it has no rates/],
    ['no XML', '{"USD": 1}', /Non-whitespace before first tag/],
    ['half a file', fileOf('2026-01-15', some).slice(0, -30), /Unclosed root tag/],
    ['another document', '<html><body/></html>', /it has no rates/],
    ['a day without rates', fileOf('2026-01-15', {}), /it has no rates/],
    ['no day', fileOf('2026-02-30', some), /2026-02-30 is not a date/],
    ['a rate that is none', fileOf('2026-01-15', { USD: '1,04' }), /1,04 is not a rate/],
    ['a negative rate', fileOf('2026-01-15', { USD: '-1' }), /-1 is not a rate/],
    ['a rate of 0', fileOf('2026-01-15', { USD: '0.0' }), /the rate of USD is 0\.0/],
    ['a rate without end', fileOf('2026-01-15', { USD: '1'.repeat(12) }), /the rate of USD is 1{12}/],
    ['a rate of 13 digits', fileOf('2026-01-15', { USD: '1.0000000000001' }), /12 fractional digits/],
    ['an entity', `<!DOCTYPE x [<!ENTITY e "1.1">]>${dayOf('2026-01-15', { USD: '&e;' })}`, /Invalid character entity/],
    ['a name that cannot be stored', fileOf('2026-01-15', some).replace('European', 'Euro\0pean'), /NUL/],
    ['more than a megabyte', ' '.repeat(limits.bytes + 1), /it is larger than 1048576 bytes/],
  ])('is refused where it is %s', (_, xml, problem) => {
    expect(readRates(xml).problem).toMatch(problem);
  });

  it('is refused in a sentence that a log can hold, whatever it says', () => {
    for (const xml of [fileOf('2026-01-15', { USD: 'x'.repeat(100_000) }), fileOf('x'.repeat(100_000), some)]) {
      expect(readRates(xml).problem?.length).toBeLessThan(300);
    }
  });
});

describe('the rates between all currencies of a table', () => {
  it('are rounded once each, from the rates by the base', () => {
    const { table } = readRates(fileOf('2026-01-15', some));
    const pairs = table ? pairsOf(table) : [];
    expect(pairs).toHaveLength(9);
    const rate = (of: string, to: string) => pairs.find(pair => pair.from === of && pair.to === to)?.rate;
    expect(rate('EUR', 'USD')).toBe(rateOf('1.0456'));
    expect(rate('USD', 'EUR')).toBe(crossRate(rateOf('1.0456'), rateOf('1')));
    expect(rate('USD', 'JPY')).toBe(rateOf('156.092195868401'));
    expect(rate('JPY', 'JPY')).toBe(rateOf('1'));
  });
});
