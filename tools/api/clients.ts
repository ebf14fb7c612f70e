import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { operations } from '@recur/contracts';
import { checkoutRoot } from '../local/home.js';
import { absent, type Check, failed, npxProgram, passed, ran } from './check.js';

const typescriptProgram = `
import type { components, paths } from './schema.js';

declare const process: { argv: string[] };
const [, , base = '', key = ''] = process.argv;

type Json<T> = T extends { content: { 'application/json': infer J } } ? J : never;
interface Posts { post: { requestBody: unknown; responses: { 200: unknown } } }
type Body<P extends keyof paths> = paths[P] extends Posts ? Json<paths[P]['post']['requestBody']> : never;
type Answer<P extends keyof paths> = paths[P] extends Posts ? Json<paths[P]['post']['responses'][200]> : never;

async function post<P extends keyof paths>(path: P, body: Body<P>): Promise<Answer<P>> {
  const headers = { authorization: 'Bearer ' + key, 'content-type': 'application/json' };
  const response = await fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const answer = await response.json() as Answer<P> | components['schemas']['Failure'];
  if ('error' in answer) throw new Error(answer.error.type + ': ' + answer.message);
  return answer;
}

const { data: { user } } = await post('/merchant/user/new', { email: 'typescript@example.com' });
const id: number = user.id;
const { data: { invoices } } = await post('/merchant/invoice/list', { userId: id });
const event: components['schemas']['InvoicePaidEvent']['type'] = 'invoice.paid';
console.log('user ' + id + ' has ' + (invoices ?? []).length + ' invoices, and awaits ' + event);
`;

const pythonProgram = `
import importlib, pkgutil, sys
import recur_client
from recur_client import AuthenticatedClient
from recur_client.api.invoice import billing_invoice_list_get
from recur_client.api.user import identity_user_new
from recur_client.models import Failure, UserNewRequest

modules = [m.name for m in pkgutil.walk_packages(recur_client.__path__, 'recur_client.')]
for name in modules:
    importlib.import_module(name)
client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
answer = identity_user_new.sync(client=client, body=UserNewRequest(email='python@example.com'))
assert not isinstance(answer, Failure), answer
invoices = billing_invoice_list_get.sync(client=client, user_id=answer.data.user.id)
assert not isinstance(invoices, Failure), invoices
refused = identity_user_new.sync(client=client, body=UserNewRequest(email='no address'))
assert isinstance(refused, Failure) and refused.error.type_ == 'invalid_parameters', refused
print(f'{len(modules)} modules imported; user {answer.data.user.id} has {len(invoices.data.invoices)} invoices')
`;

const openapiTypescript = 'openapi-typescript@7.13.0';

/** Types from openapi-typescript, used by a program that calls `fetch`. */
const typescript: Check = {
  name: 'openapi-typescript',
  async run({ folder, file, baseUrl, apiKey }) {
    const generate = await npxProgram(openapiTypescript, 'openapi-typescript', folder);
    if (generate === undefined) return absent(`npx could not fetch ${openapiTypescript}`);
    // else every field that has a default would have to be sent
    const generated = await generate([file, '--output', 'schema.d.ts', '--default-non-nullable=false']);
    if (!generated.ok) return failed(generated.output);
    writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
    writeFileSync(path.join(folder, 'program.ts'), typescriptProgram);
    const compiler = path.join(checkoutRoot(), 'node_modules/.bin/tsc');
    const options = ['--strict', '--target', 'es2023', '--module', 'nodenext', '--lib', 'es2023,dom', '--types', ''];
    const compiled = await ran(compiler, ['program.ts', ...options], folder);
    if (!compiled.ok) return failed(compiled.output);
    const called = await ran(process.execPath, ['program.js', baseUrl, apiKey], folder);
    if (!called.ok) return failed(called.output);
    const lines = readFileSync(path.join(folder, 'schema.d.ts'), 'utf8').split('\n').length;
    return passed(`${openapiTypescript}: 1 file of ${lines} lines compiles; ${called.output}`);
  },
};

const pythonClient = 'openapi-python-client==0.29.1';

/** A package from openapi-python-client, in an environment of its own. */
const python: Check = {
  name: 'openapi-python-client',
  async run({ folder, file, baseUrl, apiKey }) {
    const made = await ran('python3', ['-m', 'venv', 'python'], folder);
    if (!made.ok) return absent(`python3 could not make an environment: ${made.output}`);
    const bin = (program: string) => path.join(folder, 'python/bin', program);
    const installed = await ran(bin('pip'), ['install', '--quiet', pythonClient], folder);
    if (!installed.ok) return absent(`pip could not fetch ${pythonClient}`);
    writeFileSync(path.join(folder, 'python.yaml'), 'post_hooks: []\n');
    const options = ['--meta', 'none', '--output-path', 'recur_client', '--config', 'python.yaml'];
    const generated = await ran(bin('openapi-python-client'), ['generate', '--path', file, ...options], folder);
    const problems = generated.output.match(/^(?:WARNING|ERROR) .*$/gm) ?? [];
    // the generator knows no NDJSON
    const foreign = operations.filter(({ ndjson }) => ndjson !== undefined).map(one => one.path);
    const others = problems.filter(problem => !foreign.some(each => problem.includes(` ${each} `)));
    if (!generated.ok || others.length > 0) return failed(generated.output);
    writeFileSync(path.join(folder, 'program.py'), pythonProgram);
    const called = await ran(bin('python'), ['program.py', baseUrl, apiKey], folder);
    if (!called.ok) return failed(called.output);
    const files = readdirSync(path.join(folder, 'recur_client'), { recursive: true, encoding: 'utf8' });
    const sources = files.filter(name => name.endsWith('.py') && !name.endsWith('__init__.py'));
    const under = (room: string) => sources.filter(name => name.startsWith(room)).length;
    return passed(
      `${pythonClient}: ${sources.length} files, of them ${under('models')} classes and ${under('api')} operations; ` +
        `left out as it is NDJSON: ${foreign.join(', ')}; ${called.output}`,
    );
  },
};

export const clients: readonly Check[] = [typescript, python];
