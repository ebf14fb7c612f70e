import { describe, expect, it } from '@jest/globals';
import { measureNames } from '../bench/measure.js';
import { benchOptions } from '../bench/options.js';

describe('npm run bench', () => {
  it('takes a file and the names of measures', () => {
    expect(benchOptions([])).toEqual({ json: undefined });
    expect(benchOptions(['--json', 'x.json'])).toEqual({ json: 'x.json' });
    expect(benchOptions(['--only', 'invoice_new, webhook_deliveries', '--json', 'x.json'])).toEqual({
      json: 'x.json',
      only: new Set(['invoice_new', 'webhook_deliveries']),
    });
  });

  it('refuses names that no measure has, listing those that exist', () => {
    const failure = { exitCode: 64, message: expect.stringContaining(`the measures are ${measureNames.join(', ')}.`) };
    expect(() => benchOptions(['--only', 'invoice_new,invoices,'])).toThrow(expect.objectContaining(failure));
    expect(() => benchOptions(['--only', 'invoices'])).toThrow(/^no measure is called "invoices"; /);
  });

  it.each([[['--json']], [['--jsn', 'x']], [['x.json']]])('refuses %j with the usage', args => {
    expect(() => benchOptions(args)).toThrow(/; npm run bench takes -- \[--json FILE\] \[--only NAME,NAME…\]\.$/);
  });
});
