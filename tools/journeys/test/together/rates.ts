import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Client, orThrow } from '@recur/client';
import { opsUrlOf, ratesCommand } from '../../../local/apps.js';
import { readSettings } from '../../../local/settings.js';
import { type Stand, sharedStand } from '../stand.js';

let stand: Stand;
let api: Client;
let folder: string;
const day = new Date().toISOString().slice(0, 10);

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'recur-rates-'));
  stand = await sharedStand();
  api = (await stand.shop('Rates')).api;
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs the command as an operator does; answers its exit code and what it printed. */
function rates(...words: string[]) {
  const { home } = stand.stack;
  const { command, args, ...options } = ratesCommand(home, readSettings(home), words);
  const { status, stdout, stderr } = spawnSync(command, args, { ...options, stdio: 'pipe', encoding: 'utf8' });
  return { status, stdout, stderr };
}

const told = async () => {
  const response = await fetch(`${opsUrlOf(readSettings(stand.stack.home), 'catalog')}/readyz`);
  return [response.status, ((await response.json()) as { exchangeRates: string }).exchangeRates];
};

describe('exchange rates', () => {
  it('come from a file, serve at once, and are told of in readiness', async () => {
    expect(await told()).toEqual([200, 'none']);
    const file = path.join(folder, 'eurofxref-daily.xml');
    writeFileSync(
      file,
      `<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01"><gesmes:Sender>
        <gesmes:name>European Central Bank</gesmes:name></gesmes:Sender><Cube><Cube time="${day}">
        <Cube currency="USD" rate="1.0456"/><Cube currency="JPY" rate="163.21"/></Cube></Cube></gesmes:Envelope>`,
    );
    const said = `2 rates of ${day} from European Central Bank are imported.\n`;
    expect(rates('import', file)).toMatchObject({ status: 0, stdout: said });
    expect(rates('import', path.join(folder, 'nowhere'))).toMatchObject({ status: 66, stdout: '' });

    const currencyConfigs = [{ currency: 'JPY', autoExchange: true }];
    const set = { defaultCurrency: 'USD', currencyConfigs };
    orThrow(await api.post('/merchant/setup_multi_currencies', { multiCurrencyConfigs: [set] }));
    const asked = { amount: 100, currency: 'USD' };
    expect(orThrow(await api.post('/merchant/amount_multi_currencies_exchange', asked))).toMatchObject({
      multiCurrencyConfigs: [{ currency: 'JPY', amount: 156, exchangeRate: 156.092195868401 }],
    });
    expect(
      orThrow(await api.get('/merchant/get_exchange_rate', { fromCurrency: 'EUR', toCurrency: 'usd' })),
    ).toMatchObject({
      exchangeRate: 1.0456,
      source: 'European Central Bank',
      rateTime: Date.parse(day) / 1000,
    });
    expect(await told()).toEqual([200, `fresh, of ${day}, from European Central Bank`]);
    await stand.quiet();
  });
});
