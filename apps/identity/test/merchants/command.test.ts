import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { platformTables } from '@recur/platform';
import { MovableClock, type TestService, testService } from '@recur/platform/testing';
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { Merchants } from '../../src/merchants/merchants.js';
import { identity } from '../../src/service.js';
import { infrastructureTables, searchTables, tenantTables } from '../../src/tables.js';

let t: TestService;
const clock = new MovableClock();
beforeAll(async () => {
  t = await testService(identity, { clock });
});
afterAll(() => t.close());
afterEach(() => {
  jest.restoreAllMocks();
});

/** Runs the command as the command line would; returns its output and exit code. */
async function run(...words: string[]) {
  const printed = { out: '', err: '' };
  const into = (stream: 'out' | 'err') => (text: string | Uint8Array) => {
    printed[stream] += text;
    return true;
  };
  jest.spyOn(process.stdout, 'write').mockImplementation(into('out'));
  jest.spyOn(process.stderr, 'write').mockImplementation(into('err'));
  const code = await identity.commands?.merchant?.(t.app, words);
  jest.restoreAllMocks();
  return { ...printed, code };
}

const ask = async () => {
  const reply = await t.bus.request('cmd.identity.platform.callers', '{}', t.callerOf({ merchantId: 0 }));
  return JSON.parse(reply.bytes.toString()) as JSONWebKeySet & { version: number; revoked: string[] };
};

describe('merchant create', () => {
  let made: { merchantId: number; memberId: number; apiKey: string };

  it('makes a merchant, its owner and a key, and prints nothing else', async () => {
    expect(await ask()).toEqual({ version: 0, keys: [], revoked: [], ending: [], members: [], next: null });
    const { out, err, code } = await run('create', '--name', 'Acme', '--email', 'Ada@Example.com', '--json');
    expect([err, code]).toEqual(['', 0]);
    expect(out.trimEnd().split('\n')).toHaveLength(1);
    made = JSON.parse(out);
    expect(made).toEqual({ merchantId: expect.any(Number), memberId: expect.any(Number), apiKey: expect.any(String) });
    const [merchant] = await t.rows('select merchant_id, name from merchants');
    expect(merchant).toEqual({ merchant_id: String(made.merchantId), name: 'Acme' });
    const [owner] = await t.rows('select id, email, is_owner, status from members');
    expect(owner).toEqual({ id: String(made.memberId), email: 'Ada@Example.com', is_owner: true, status: 'active' });
  });

  it('emits the merchant, its key and the new public key, and logs once, as the system', async () => {
    const events = await t.emitted();
    expect(events.map(({ type, version, merchantId }) => [type, version, merchantId])).toEqual([
      ['merchant.created', 1, made.merchantId],
      ['member.created', 1, made.merchantId],
      ['callers.changed', 1, made.merchantId],
      ['apikey.created', 1, made.merchantId],
      ['operation.logged', 1, made.merchantId],
    ]);
    const [merchant, member, changed, key, logged] = events;
    expect(merchant?.data).toMatchObject({ id: made.merchantId, name: 'Acme' });
    expect(member?.data).toMatchObject({ id: made.memberId, email: 'Ada@Example.com', isOwner: true, roleIds: [] });
    expect(logged?.data).toEqual({
      actor: { kind: 'system', id: '', display: 'system' },
      target: `Merchant(${made.merchantId})`,
      content: 'New',
      ids: {},
    });
    expect(changed?.data).toEqual({ keys: (await ask()).keys, revoked: [], ending: [], members: [] });
    expect(key?.data).toMatchObject({ merchantId: made.merchantId, revokedTime: 0 });
  });

  it('signs the key so that it verifies with what gateways are told', async () => {
    const { keys, version, revoked } = await ask();
    expect([version, revoked]).toEqual([1, []]);
    const [jwk] = keys;
    expect(jwk).toEqual({
      kty: 'OKP',
      crv: 'Ed25519',
      x: expect.any(String),
      kid: expect.any(String),
      alg: 'EdDSA',
      use: 'sig',
    });
    const { payload, protectedHeader } = await jwtVerify(made.apiKey, createLocalJWKSet({ keys }), {
      algorithms: ['EdDSA'],
      issuer: 'recur',
      audience: 'recur',
      typ: 'api-key+jwt',
      currentDate: new Date(t.clock.wall()),
    });
    expect(protectedHeader).toEqual({ alg: 'EdDSA', typ: 'api-key+jwt', kid: jwk?.kid });
    expect(payload).toEqual({
      iss: 'recur',
      aud: 'recur',
      sub: String(made.merchantId),
      jti: expect.stringMatching(/^[\w-]{32}$/),
      env: 'sandbox',
      iat: t.clock.now(made.merchantId),
    });
    const jtiHash = createHash('sha256')
      .update(payload.jti ?? '')
      .digest('base64url');
    expect(await t.rows('select jti_hash, hint from api_keys')).toEqual([
      { jti_hash: jtiHash, hint: `key_...${jtiHash.slice(-6)}` },
    ]);
  });

  it('keeps neither the key nor its jti nor the private key in any table', async () => {
    const { keyring } = t;
    const [row] = await t.rows('select kid, sealed_private_key from signing_keys');
    const { d } = JSON.parse(
      keyring.open(String(row?.sealed_private_key), `signing_keys.sealed_private_key ${row?.kid}`),
    );
    const secrets = [made.apiKey, made.apiKey.split('.')[2] ?? '', decodeJwt(made.apiKey).jti ?? '', d];
    expect(secrets.every(secret => secret.length >= 32)).toBe(true);
    const tables = await t.rows(`select tablename from pg_tables where schemaname = 'public'`);
    expect(tables.length).toBeGreaterThan(platformTables.length);
    for (const { tablename } of tables) {
      const everything = JSON.stringify(await t.rows(`select t::text from "${tablename}" t`));
      for (const secret of secrets) expect(everything).not.toContain(secret);
    }
  });

  it('makes another merchant for an e-mail that a member of the first has', async () => {
    const { out, err, code } = await run('create', '--name', 'Copy', '--email', 'ada@example.COM', '--json');
    expect([err, code]).toEqual(['', 0]);
    expect(JSON.parse(out).merchantId).not.toBe(made.merchantId);
    expect(await t.rows(`select 1 from members where email_key = 'ada@example.com'`)).toHaveLength(2);
  });

  it('prints for a person without --json, and signs with the key that is there', async () => {
    const { out } = await run('create', '--name', 'Second', '--email', 'second@example.com');
    expect(out).toMatch(
      /^Merchant \d+ with its owner, member \d+\. Its API key, shown only once:\n[\w-]+\.[\w-]+\.[\w-]+\n$/,
    );
    const { version, keys } = await ask();
    expect([version, keys.length]).toEqual([1, 1]);
    const second = out.trimEnd().split('\n')[1] ?? '';
    expect(decodeProtectedHeader(second).kid).toBe(keys[0]?.kid);
    expect(decodeJwt(second).sub).not.toBe(String(made.merchantId));
  });
});

describe('words that are wrong', () => {
  it.each([
    [[], 'A command is missing.'],
    [['keys'], 'There is no command "keys".'],
    [['list', 'keys'], 'There is no command "list keys".'],
    [['create', '--name', ' ', '--email', 'nobody'], '--email must be an e-mail address.'],
    [['create', '--name', ' ', '--email', 'nobody'], '--name must have at least 1 characters.'],
    [['create', '--nome', 'x'], "Unknown option '--nome'"],
    [['keys', 'list'], '--merchant is required.'],
    [['keys', 'revoke', '--merchant', '1'], '--key is required.'],
    [['keys', 'rotate', '--merchant', 'acme'], '--merchant must be a positive integer.'],
    [['keys', 'rotate', '--merchant', '1', '--key', '2'], 'keys rotate takes no --key.'],
  ])('are refused with the usage: %j', async (words, sentence) => {
    const { out, err, code } = await run(...words);
    expect([out, code]).toEqual(['', 64]);
    expect(err).toContain(sentence);
    expect(err).toContain('Usage: npm run merchant --');
  });
});

describe('merchant keys', () => {
  let of: string[];
  const json = async (...words: string[]) => {
    const { out, err, code } = await run(...words, ...of, '--json');
    expect([err, code, out.trimEnd().split('\n').length]).toEqual(['', 0, 1]);
    return JSON.parse(out);
  };

  it('list shows each key without anything secret, for a program and for a person', async () => {
    const { merchantId, apiKey } = await t.app
      .get(Merchants)
      .create({ name: 'Keys', email: 'keys@example.com' }, 'boot');
    of = ['--merchant', String(merchantId)];
    const { keys, ...rest } = await json('keys', 'list');
    expect(rest).toEqual({ merchantId });
    const jtiHash = createHash('sha256')
      .update(decodeJwt(apiKey).jti ?? '')
      .digest('base64url');
    const hint = `key_...${jtiHash.slice(-6)}`;
    const createTime = t.clock.now(merchantId);
    expect(keys).toEqual([{ id: expect.any(Number), hint, createTime, revokedTime: 0, state: 'active' }]);
    const { out } = await run('keys', 'list', ...of);
    expect(out.trim()).toBe(`${keys[0].id}  ${hint}  created 2026-01-15T12:00:00Z  active`);
  });

  it('rotate makes a key and says how long the others hold', async () => {
    const { key, apiKey, ending } = await json('keys', 'rotate');
    expect(decodeJwt(apiKey).sub).toBe(of[1]);
    expect(ending).toMatchObject([{ state: 'ending', revokedTime: t.clock.now(0) + 86_400 }]);
    const { out } = await run('keys', 'rotate', ...of);
    const [title, shown = '', until] = out.trimEnd().split('\n');
    expect(title).toMatch(/^API key \d+ of merchant \d+, shown only once:$/);
    expect(decodeJwt(shown).sub).toBe(of[1]);
    expect(until).toBe(`API key ${key.id} (${key.hint}) stays valid until 2026-01-16T12:00:00Z.`);
  });

  it('revoke ends a key, once, and says so each time', async () => {
    const [{ id, hint }] = (await json('keys', 'list')).keys;
    const revoke = ['keys', 'revoke', '--key', String(id)];
    await t.emitted();
    expect((await run(...revoke, ...of)).out).toBe(
      `API key ${id} (${hint}) is revoked; every gateway refuses it within 5 s.\n`,
    );
    expect((await t.emitted()).filter(({ type }) => type === 'operation.logged')).toMatchObject([
      { data: { actor: { kind: 'system' }, target: `ApiKey(${id})`, content: 'Revoke' } },
    ]);
    clock.advance(60);
    expect((await run(...revoke, ...of)).out).toBe(
      `API key ${id} (${hint}) is revoked already, 2026-01-15T12:00:00Z.\n`,
    );
    expect(await json(...revoke)).toMatchObject({ changed: false, key: { id, state: 'revoked' } });
    expect(await t.emitted()).toEqual([]);
  });

  it('refuses a merchant and a key that are not there', async () => {
    for (const command of [['list'], ['rotate'], ['revoke', '--key', '1']]) {
      const refused = await run('keys', ...command, '--merchant', '999', '--json');
      expect(refused).toEqual({ out: '', err: 'There is no merchant 999.\n', code: 1 });
    }
    expect(await run('keys', 'revoke', ...of, '--key', '999')).toEqual({
      out: '',
      err: `Merchant ${of[1]} has no API key 999.\n`,
      code: 1,
    });
  });
});

it('makes one signing key, however many first merchants are made at once', async () => {
  const fresh = await testService(identity);
  const names = Array.from({ length: 8 }, (_, at) => `m${at}`);
  const all = await Promise.all(
    names.map(name => fresh.app.get(Merchants).create({ name, email: `${name}@example.com` }, name)),
  );
  expect(await fresh.rows('select is_current from signing_keys')).toEqual([{ is_current: true }]);
  expect(new Set(all.map(({ apiKey }) => decodeProtectedHeader(apiKey).kid)).size).toBe(1);
  expect(new Set(all.map(({ merchantId }) => merchantId)).size).toBe(8);
  expect((await fresh.emitted()).filter(({ type }) => type === 'callers.changed')).toHaveLength(1);
  expect(await fresh.rows('select version from callers')).toEqual([{ version: 1 }]);
  await fresh.close();
});

it('makes two merchants that are asked for at once with one e-mail', async () => {
  const made = await Promise.all(
    ['twin@example.com', 'Twin@example.com'].map(email => t.app.get(Merchants).create({ name: 'Twin', email }, email)),
  );
  expect(new Set(made.map(({ merchantId }) => merchantId)).size).toBe(2);
  expect(await t.rows(`select 1 from members where email_key = 'twin@example.com'`)).toHaveLength(2);
});

it('keys and indexes its tenant tables by the merchant first', async () => {
  expect(await t.withoutMerchant()).toEqual([]);
});

it('maps its tables as the migrations make them, and leaves none without row-level security by accident', async () => {
  expect(await t.drift()).toEqual([]);
  const secured = await t.rows(
    `select relname, relrowsecurity and relforcerowsecurity as secured from pg_class
     where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  );
  const open = secured.filter(row => !row.secured).map(row => String(row.relname));
  const known = [...platformTables, ...infrastructureTables.map(({ table }) => table), ...searchTables];
  expect(open.sort()).toEqual(known.sort());
  expect(secured.filter(row => row.secured).map(row => row.relname)).toEqual(
    expect.arrayContaining(tenantTables.map(({ table }) => table)),
  );
});
