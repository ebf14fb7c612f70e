import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Schema } from '@recur/platform/testing';
import { formatted } from '../docs/formatted.js';

export interface NewMigration {
  file: string;
  className: string;
  statements: readonly string[];
  /** The file whose list of migrations names the class now; undefined when there is no such list. */
  registeredIn: string | undefined;
}

interface Content {
  /** The src folder of a service. */
  sources: string;
  /** Words joined by hyphens. */
  name: string;
  /** Milliseconds since 1970. */
  now: number;
  statements: readonly string[];
  schema: Schema;
  /** Name of the platform helper for row-level security. */
  secure: string;
}

/** Writes a migration class under the next number, later than all others, and adds it to the service's list. */
export function writeMigration({ sources, name, now, statements, schema, secure }: Content): NewMigration {
  const folder = path.join(sources, 'migrations');
  const files = readdirSync(folder).filter(file => /^\d{4}-.*\.ts$/.test(file));
  const number = String(Math.max(0, ...files.map(file => Number(file.slice(0, 4)))) + 1).padStart(4, '0');
  const existing = schema.migrations.map(migration => migration.name);
  const latest = Math.max(0, ...existing.map(other => Number(other.slice(-13))));
  const className = `${pascalCase(name)}${Math.max(now, latest + 1)}`;
  const file = path.join(folder, `${number}-${name}.ts`);
  const tenants = newTenantTables(statements, schema);
  writeFileSync(file, formatted(textOf(name, className, statements, tenants, secure), 'migration.ts'));
  const registeredIn = register(sources, existing.at(-1), className, `${number}-${name}`);
  return { file, className, statements, registeredIn };
}

function textOf(
  name: string,
  className: string,
  statements: readonly string[],
  tenants: readonly string[],
  secure: string,
): string {
  const secured = tenants.map(table => `    await runner.query(${secure}('${table}'));\n`).join('');
  const quoted = statements.map(statement => `  \`${statement.replace(/[\\`]|\$\{/g, '\\$&')}\`,\n`).join('');
  return `${tenants.length > 0 ? `import { ${secure} } from '@recur/platform';\n` : ''}import type { MigrationInterface, QueryRunner } from 'typeorm';

/** ${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll('-', ' ')}. */
export class ${className} implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
${secured}  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
${quoted}];
`;
}

/** New tables with a merchant_id: they get row-level security. */
function newTenantTables(statements: readonly string[], schema: Schema): string[] {
  const made = statements.flatMap(statement => /^CREATE TABLE "(\w+)"/.exec(statement)?.[1] ?? []);
  return made.filter(name =>
    schema.tables.some(({ table, entity }) => table === name && 'merchantId' in entity.columns),
  );
}

/** Adds the class after the last one, in the file of the service that imports it. */
function register(sources: string, last: string | undefined, className: string, file: string): string | undefined {
  if (last === undefined) return undefined;
  const imported = new RegExp(`import \\{ ${last} \\} from '(.*/)[^/]+\\.js';\n`);
  for (const candidate of readdirSync(sources, { recursive: true, encoding: 'utf8' })) {
    if (!candidate.endsWith('.ts')) continue;
    const target = path.join(sources, candidate);
    const text = readFileSync(target, 'utf8');
    const found = imported.exec(text);
    if (found === null) continue;
    const line = `import { ${className} } from '${found[1]}${file}.js';\n`;
    const withImport = text.replace(found[0], `${found[0]}${line}`);
    const at = withImport.lastIndexOf(last) + last.length;
    const separator = withImport[at] === ',' ? '' : ',';
    const after = separator === '' ? at + 1 : at;
    const listed = `${withImport.slice(0, after)}${separator}\n${className},${withImport.slice(after)}`;
    writeFileSync(target, formatted(listed, 'service.ts'));
    return target;
  }
  return undefined;
}

const pascalCase = (name: string) => name.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
