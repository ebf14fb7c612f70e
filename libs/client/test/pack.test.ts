import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { scriptedServer, success } from './server.js';

const root = path.join(import.meta.dirname, '../../..');
const run = promisify(execFile);
const tsc = path.join(root, 'node_modules/.bin/tsc');

let folder: string;
const inFolder = (...names: string[]) => path.join(folder, ...names);
const packed = (lib: string, file: string) => readFileSync(inFolder('node_modules/@recur', lib, file), 'utf8');

/** Packs a lib as `npm publish` would, and unpacks it where `npm install` would. Returns its files. */
async function install(lib: string): Promise<string[]> {
  const to = inFolder('node_modules/@recur', lib);
  mkdirSync(to, { recursive: true });
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const { stdout } = await run('npm', args, { cwd: path.join(root, 'libs', lib) });
  const [made] = Object.values(JSON.parse(stdout)) as [{ filename: string; files: { path: string }[] }];
  await run('tar', ['-xzf', inFolder(made.filename), '-C', to, '--strip-components=1']);
  return made.files.map(file => file.path);
}

const program = `
import { createClient, type Result, webhookReceiver } from '@recur/client';

const recur = createClient({ baseUrl: String(globalThis.process.argv[2]), credential: 'key' });
const made = await recur.post('/merchant/user/new', { email: 'kim@example.com' });
const id: number = made.ok ? made.data.user.id : 0;
const tracked: Result<{ used: number }> = await recur.track({ user: id, metric: 'calls', value: 2, id: 'call-1' });
const receive = webhookReceiver({ secrets: ['whsec_AAAA'], on: { 'invoice.paid': ({ data }) => data.lines.length } });
const { status } = await receive({ body: '', headers: {} });
console.log(JSON.stringify([id, tracked.ok && tracked.data.used, status]));
declare global { var process: { argv: string[] } }
`;
const config = {
  compilerOptions: {
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    target: 'es2023',
    module: 'nodenext',
    lib: ['es2023', 'dom', 'dom.iterable'],
    types: [],
  },
  include: ['*.ts'],
};

/** The compiler's complaints about a program of a merchant; '' if there are none. */
async function compiled(text: string): Promise<string> {
  writeFileSync(inFolder('main.ts'), text);
  try {
    return (await run(tsc, ['-p', folder])).stdout;
  } catch (cause) {
    return (cause as { stdout: string }).stdout;
  }
}

describe('packed, the client and its contracts', () => {
  let files: string[][];
  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'recur-pack-'));
    files = [await install('client'), await install('contracts')];
    symlinkSync(path.join(root, 'node_modules/zod'), inFolder('node_modules/zod'));
    writeFileSync(inFolder('package.json'), '{ "type": "module" }');
    writeFileSync(inFolder('tsconfig.json'), JSON.stringify(config));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('have what is built, its source and a README, and can be published', () => {
    for (const list of files) {
      expect(list).toEqual(
        expect.arrayContaining(['dist/index.js', 'dist/index.d.ts', 'src/index.ts', 'README.md', 'LICENSE']),
      );
      expect(list.filter(file => !/^(dist|src)\/|^(package\.json|README\.md|LICENSE)$/.test(file))).toEqual([]);
    }
    const [client, contracts] = ['client', 'contracts'].map(lib => JSON.parse(packed(lib, 'package.json')));
    for (const { private: isPrivate, engines, license } of [client, contracts])
      expect({ isPrivate, engines, license }).toEqual({ engines: { node: '>=20' }, license: 'Apache-2.0' });
    expect(client.dependencies).toEqual({ '@recur/contracts': `^${contracts.version}` });
    expect(Object.values(contracts.dependencies)).not.toContain('*');
  });

  it('are enough for a strict program, which compiles and runs', async () => {
    expect(await compiled(program)).toBe('');
    const event = { merchantMetricEvent: { used: 7 } };
    const server = await scriptedServer([success({ user: { id: 5 } }), success(event)]);
    const { stdout } = await run(process.execPath, [inFolder('main.js'), server.baseUrl]).finally(server.close);
    expect(JSON.parse(stdout)).toEqual([5, 7, 400]);
    expect(server.received.map(({ url }) => url)).toEqual(['/api/merchant/user/new', '/api/merchant/metric/event/new']);
  });

  it('have types that refuse what the API would', async () => {
    const wrong = program.replace('data.lines.length', 'data.seats').replace("id: 'call-1'", '');
    const said = await compiled(wrong);
    expect(said).toContain("'seats' does not exist");
    expect(said).toContain("'id' is missing");
  });
});
