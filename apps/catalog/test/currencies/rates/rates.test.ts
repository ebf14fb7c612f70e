import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { currencies, exchangeRate } from '@recur/contracts';
import { type Log, systemCaller } from '@recur/platform';
import { MovableClock, type TestService, testService } from '@recur/platform/testing';
import { config } from '../../../src/config.js';
import { httpSource } from '../../../src/currencies/rates/http.js';
import { Rates } from '../../../src/currencies/rates/rates.js';
import { RATE_SOURCE, RatesRefresh } from '../../../src/currencies/rates/refresh.js';
import { limits, readRates } from '../../../src/currencies/rates/xml.js';
import { catalog } from '../../../src/service.js';
import { fileOf } from './files.js';

const at = Date.UTC(2026, 0, 15) / 1000;
const some = { USD: '1.0456', JPY: '163.21' };

describe('the rate tables', () => {
  let t: TestService;
  let clock: MovableClock;
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'recur-rates-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  beforeEach(async () => {
    clock = new MovableClock();
    t = await testService(catalog, { clock });
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await t.close();
  });

  const dollar = async () => {
    const result = await t.call(exchangeRate, { fromCurrency: 'EUR', toCurrency: 'USD' });
    return result.ok ? result.data.exchangeRate : result.slug;
  };
  const take = async (day: string, rates: Record<string, string> = some) => {
    const { table, problem } = readRates(fileOf(day, rates));
    if (!table) throw new Error(problem);
    return t.app.get(Rates).take(table);
  };
  const told = () => catalog.details?.(t.app).exchangeRates?.();

  /** Runs the command as the command line would; answers what it printed, and its exit code. */
  async function command(...words: string[]) {
    const printed: string[] = [];
    const into = (text: string | Uint8Array) => printed.push(String(text)) > 0;
    jest.spyOn(process.stdout, 'write').mockImplementation(into);
    jest.spyOn(process.stderr, 'write').mockImplementation(into);
    const code = await catalog.commands?.rates?.(t.app, words);
    jest.restoreAllMocks();
    return [code, printed.join('')];
  }
  const file = (xml: string) => {
    const name = path.join(folder, 'rates.xml');
    writeFileSync(name, xml);
    return name;
  };

  it('are imported from a file, once', async () => {
    expect([await dollar(), await told()]).toEqual(['exchange_rate_not_found', 'none']);
    const name = file(fileOf('2026-01-15', some));
    const what = '2 rates of 2026-01-15 from European Central Bank';
    expect(await command('import', name)).toEqual([0, `${what} are imported.\n`]);
    expect([await dollar(), await told()]).toEqual([1.0456, 'fresh, of 2026-01-15, from European Central Bank']);
    expect(await command('import', name)).toEqual([0, `${what} were imported before.\n`]);
    expect(await t.rows('select source, at, taken_time from rate_tables')).toEqual([
      { source: 'European Central Bank', at: String(at), taken_time: String(clock.now()) },
    ]);
    expect(await t.rows('select count(*)::int as n from exchange_rates')).toEqual([{ n: 9 }]);
    expect(await t.emitted()).toEqual([]);
  });

  it('are not imported from what is no such file; nothing changes', async () => {
    const usage = /^Usage: node apps\/catalog\/dist\/main\.js rates import <file>/;
    for (const words of [[], ['import'], ['export', 'x'], ['import', 'x', 'y']]) {
      expect(await command(...words)).toEqual([64, expect.stringMatching(usage)]);
    }
    const nowhere = path.join(folder, 'nowhere.xml');
    expect(await command('import', nowhere)).toEqual([66, `${nowhere} cannot be read: ENOENT.\n`]);
    const large = file(' '.repeat(limits.bytes + 1));
    expect(await command('import', large)).toEqual([65, `${large} cannot be used: it is larger than 1048576 bytes.\n`]);
    const name = file(fileOf('2026-01-15', { USD: 'x' }));
    expect(await command('import', name)).toEqual([65, `${name} cannot be used: x is not a rate.\n`]);
    const ahead = file(fileOf('2026-01-17', some));
    const what = '2 rates of 2026-01-17 from European Central Bank';
    expect(await command('import', ahead)).toEqual([65, `${ahead} has ${what}: that day is in the future.\n`]);
    expect(await t.rows('select 1 from rate_tables')).toEqual([]);
  });

  it('serve by the newest day, and of one day by the one that came last', async () => {
    expect(await take('2026-01-14', { USD: '1.4' })).toBe('taken');
    expect(await take('2026-01-13', { USD: '1.3' })).toBe('taken');
    expect(await dollar()).toBe(1.4);
    expect(await take('2026-01-14', { USD: '1.5' })).toBe('taken');
    expect(await dollar()).toBe(1.5);
    expect(await take('2026-01-14', { USD: '1.5' })).toBe('known');
    expect(await take('2026-01-16', { USD: '1.6' })).toBe('taken');
    expect(await take('2026-01-17', { USD: '1.7' })).toBe('ahead');
    expect(await dollar()).toBe(1.6);
  });

  it('are taken once by however many at the same time', async () => {
    const all = await Promise.all(Array.from({ length: 16 }, () => take('2026-01-15')));
    expect(all.filter(outcome => outcome === 'taken')).toHaveLength(1);
    expect(await t.rows('select count(*)::int as n from exchange_rates')).toEqual([{ n: 9 }]);
  });

  it('hold every currency there is', async () => {
    const all = [...currencies.keys()].filter(currency => currency !== 'EUR');
    const rates = Object.fromEntries(all.map((currency, i) => [currency, `${i + 1}.5`]));
    expect(await take('2026-01-15', { ...rates, USD: '1000000000', JPY: '0.000001' })).toBe('taken');
    // but the one from the most to the least, which 12 digits cannot tell from 0
    expect(await t.rows('select count(*)::int as n from exchange_rates')).toEqual([{ n: currencies.size ** 2 - 1 }]);
    const extreme = await t.done(exchangeRate, { fromCurrency: 'JPY', toCurrency: 'USD' });
    expect(extreme.exchangeRate).toBe(1e15);
  });

  it('that are older than 48 hours are told in readiness, and still serve', async () => {
    await take('2026-01-15');
    clock.advance(at + 48 * 3600 - clock.now());
    expect(await told()).toBe('fresh, of 2026-01-15, from European Central Bank');
    clock.advance(1);
    expect(await told()).toBe('stale, of 2026-01-15, from European Central Bank');
    expect(await dollar()).toBe(1.0456);
  });

  it('are removed after 90 days, but for the newest', async () => {
    await take('2026-01-13');
    await take('2026-01-15');
    await take('2026-01-14');
    clock.advance(90 * 86_400 + 1);
    await t.janitor.sweep();
    const left = `select to_timestamp(at) at time zone 'UTC' as day from rate_tables
      where exists (select 1 from exchange_rates where table_id = rate_tables.id)`;
    expect(await t.rows(left)).toEqual([{ day: expect.any(Date) }]);
    expect(await dollar()).toBe(1.0456);
    expect(await t.rows('select 1 from rate_tables')).toHaveLength(3);
  });

  describe('and where they come from', () => {
    type Line = [level: string, what: string];
    let lines: Line[];
    const log = () =>
      ({
        info: (_: object, what: string) => lines.push(['info', what]),
        warn: ({ err }: { err?: Error }, what: string) => lines.push(['warn', err ? `${what}: ${err.message}` : what]),
      }) as unknown as Log;
    const refresh = (source?: () => Promise<string>) => new RatesRefresh(t.db, t.app.get(Rates), clock, log(), source);
    const look = async (source?: () => Promise<string>) =>
      t.db.apply(systemCaller(0, 'test', Number.POSITIVE_INFINITY), await refresh(source).work.prepare([]));
    beforeEach(() => {
      lines = [];
    });

    it('are refreshed from it, told once', async () => {
      const source = async () => fileOf('2026-01-15', some);
      await look(source);
      await look(source);
      expect(lines).toEqual([['info', 'imported new exchange rates']]);
      expect(await dollar()).toBe(1.0456);
    });

    it('go on serving whatever it answers, and that is told', async () => {
      await take('2026-01-15');
      const answers = [
        () => Promise.reject(new Error('away')),
        async () => '<html/>',
        async () => fileOf('2026-01-18', { USD: '2' }),
      ];
      for (const answer of answers) await look(answer);
      expect(lines).toEqual([
        ['warn', 'could not import new exchange rates: away'],
        ['warn', "could not import new exchange rates: the source's rates cannot be used: it has no rates"],
        ['warn', 'could not import new exchange rates: the source published rates that are dated in the future'],
      ]);
      expect(await dollar()).toBe(1.0456);
    });

    it('are told in the log when they are stale', async () => {
      await look();
      expect(lines).toEqual([]);
      await take('2026-01-15');
      clock.advance(3 * 86_400);
      await look();
      expect(lines).toEqual([['warn', 'the exchange rates are older than 48 hours; they are still used']]);
    });

    describe('over HTTP', () => {
      type Answer = (response: ServerResponse) => void;
      let answer: Answer;
      let server: Server;
      let url: string;
      beforeAll(async () => {
        server = createServer((_, response) => answer(response)).listen(0, '127.0.0.1');
        await once(server, 'listening');
        url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/daily.xml`;
      });
      afterAll(() => {
        server.closeAllConnections();
        server.close();
      });

      it('are fetched from the URL of the deployment', async () => {
        answer = response => response.end(fileOf('2026-01-15', some));
        const fetching = await testService(catalog, { clock, env: { RATES_URL: url, RATES_ALLOW_LOOPBACK: 'true' } });
        await fetching.app.get(RatesRefresh).start();
        await fetching.work.drain();
        const known = await fetching.done(exchangeRate, { fromCurrency: 'EUR', toCurrency: 'JPY' });
        expect(known.exchangeRate).toBe(163.21);
        await fetching.close();
      });

      it.each<[string, Answer, RegExp]>([
        ['an error', response => response.writeHead(500).end('no'), /answers 500/],
        ['a redirect', response => response.writeHead(302, { location: '/elsewhere' }).end(), /answers 302/],
        ['too much', response => response.end(' '.repeat(limits.bytes + 1)), /larger than 1048576 bytes/],
        ['an end that never comes', response => response.write('<x>'), /no complete answer/],
        ['nothing', response => response.destroy(), /the source of rates: /],
      ])('go on serving where it answers %s', async (_, given, problem) => {
        answer = given;
        await look(httpSource(url, { allowLoopback: true, httpsOnly: false }, 500));
        expect(lines).toEqual([['warn', expect.stringMatching(problem)]]);
      });

      it('are not fetched from an address inside', async () => {
        answer = response => response.end(fileOf('2026-01-15', some));
        await look(httpSource(url, { allowLoopback: false, httpsOnly: false }));
        expect(lines).toEqual([['warn', expect.stringContaining('the source of rates: ')]]);
      });

      it('are fetched in production by https alone', () => {
        const set = {
          RECUR_ENV: 'production',
          NATS_URL: 'x',
          DATABASE_URL: 'postgres://x/y',
          SECRET_KEYS: `k:${'A'.repeat(43)}=`,
          CALLER_KEY: `${'A'.repeat(43)}=`,
        };
        const problems = (RATES_URL: string, more: object = {}) =>
          config.safeParse({ ...set, RATES_URL, ...more }).error?.issues.map(({ path: at }) => at.join());
        expect(problems('https://example.com/rates.xml')).toBeUndefined();
        expect(problems('http://example.com/rates.xml')).toEqual(['RATES_URL']);
        expect(problems('http://example.com/rates.xml', { RECUR_ENV: 'sandbox' })).toBeUndefined();
        expect(problems('file:///rates.xml', { RECUR_ENV: 'sandbox' })).toEqual(['RATES_URL', 'RATES_URL']);
        expect(problems('http://127.0.0.1/rates.xml', { RECUR_ENV: 'sandbox' })).toEqual(['RATES_URL']);
        expect(problems('https://example.com/rates.xml', { RATES_ALLOW_LOOPBACK: 'true' })).toEqual([
          'RATES_ALLOW_LOOPBACK',
        ]);
      });
    });

    describe('in a service', () => {
      let answer: (xml: string) => void = () => undefined;
      let asked: string[];
      let begun: Promise<void>;
      let service: TestService;
      beforeEach(async () => {
        asked = [];
        let begin: () => void = () => undefined;
        begun = new Promise(resolve => {
          begin = resolve;
        });
        const answered = new Promise<string>(resolve => {
          answer = resolve;
        });
        const source = () => {
          asked.push('once');
          begin();
          return answered;
        };
        const providers = [{ provide: RATE_SOURCE, useValue: source }];
        service = await testService({ ...catalog, providers: [...(catalog.providers ?? []), ...providers] }, { clock });
      });
      afterEach(() => service.close());
      const known = () => service.rows('select 1 from rate_tables');

      it('end with it, after the refresh that is under way', async () => {
        service.work.start();
        await service.app.get(RatesRefresh).start();
        await begun;
        const stopped = service.work.stop();
        answer(fileOf('2026-01-15', some));
        await stopped;
        expect([asked, await known()]).toEqual([['once'], [{ '?column?': 1 }]]);
      });

      it('are fetched by one of its replicas, and an hour later again', async () => {
        const replica = await service.replica();
        await Promise.all([service, replica].map(({ app }) => app.get(RatesRefresh).start()));
        const drained = service.work.drain();
        await begun;
        await replica.work.drain();
        answer(fileOf('2026-01-15', some));
        await drained;
        clock.advance(3_599);
        await replica.work.drain();
        expect(asked).toEqual(['once']);
        clock.advance(1);
        await replica.work.drain();
        expect(asked).toEqual(['once', 'once']);
        expect(await service.rows('select due_at from due_work')).toEqual([{ due_at: String(clock.now() + 3_600) }]);
      });
    });
  });
});
