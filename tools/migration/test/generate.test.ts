import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { int, integer, table, text } from '@recur/platform';
import { catalog } from '../../../apps/catalog/src/service.js';
import { checkoutRoot } from '../../local/home.js';
import { generate, run } from '../migration.js';

let sources: string;
beforeEach(() => {
  sources = mkdtempSync(path.join(tmpdir(), 'recur-migration-'));
  cpSync(path.join(checkoutRoot(), 'apps/catalog/src'), sources, { recursive: true });
});
afterEach(() => rmSync(sources, { recursive: true }));

const colors = table<{ merchantId: number; id: number; version: number; name: string }>('colors', {
  key: ['merchantId', 'id'],
  columns: { merchantId: integer(), id: integer(), version: int(), name: { ...text(), default: "it's `red`" } },
  indices: { colors_by_name: { on: ['merchantId', 'name'], unique: true } },
});
const schema = { ...catalog.schema, tables: [...catalog.schema.tables, colors] };
const at = Date.UTC(2030, 0, 1);

it('writes the difference as the next migration, with row-level security, and registers it', async () => {
  const made = await generate({ name: 'catalog', schema }, { sources, name: 'plan-colors', now: at });
  const className = `PlanColors${at}`;
  const number = String(schema.migrations.length + 1).padStart(4, '0');
  expect(made).toMatchObject({
    className,
    file: path.join(sources, `migrations/${number}-plan-colors.ts`),
    registeredIn: path.join(sources, 'service.ts'),
  });
  expect(made?.statements).toEqual([
    expect.stringMatching(/^CREATE TABLE "colors" \(/),
    expect.stringMatching(/^CREATE UNIQUE INDEX "colors_by_name" ON "colors" +\("merchant_id", "name"\) ?$/),
  ]);
  const written = readFileSync(made?.file ?? '', 'utf8');
  expect(written).toContain(`export class ${className} implements MigrationInterface {`);
  expect(written).toMatch(/await runner\.query\(secure(V\d+)?\('colors'\)\);/);
  expect(written).toMatch(/DEFAULT 'it'{1,2}s \\`red\\`'/);
  const service = readFileSync(path.join(sources, 'service.ts'), 'utf8');
  expect(service).toContain(`import { ${className} } from './migrations/${number}-plan-colors.js';`);
  expect(service).toMatch(new RegExp(`${schema.migrations.at(-1)?.name},\\s+${className},\\s+\\],`));
});

it('writes nothing when the tables and the migrations agree', async () => {
  expect(
    await generate({ name: 'catalog', schema: catalog.schema }, { sources, name: 'none', now: at }),
  ).toBeUndefined();
});

it.each([[[]], [['generate', 'catalog']], [['generate', 'shop', 'x']], [['generate', 'catalog', 'Bad Name']]])(
  'refuses %j with its usage',
  async args => {
    await expect(run(args)).rejects.toMatchObject({ exitCode: 64, message: expect.stringContaining('usage: ') });
  },
);
