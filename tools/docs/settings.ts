import type { z } from 'zod';
import { bounds, schemaOf, table, typeOf } from './fields.js';
import { withPart } from './formatted.js';

/** The page with its table of settings regenerated from the schemas of the apps. */
export const withSettings = (page: string, schemas: Readonly<Record<string, z.ZodType>>): string =>
  withPart(page, 'settings', settingsTable(schemas));

/** Table with a row per variable, or two when its meaning differs between apps. */
function settingsTable(schemas: Readonly<Record<string, z.ZodType>>): string {
  const readers = new Map<string, string[]>();
  for (const [app, schema] of Object.entries(schemas)) {
    const { properties = {}, required = [] } = schemaOf(schema, 'input');
    for (const [name, field] of Object.entries(properties)) {
      const type = [typeOf(field), bounds(field.minimum, field.maximum)].filter(word => word !== '').join(', ');
      const fallback = field.default === undefined ? '' : `\`${field.default}\``;
      const cells = [
        `\`${name}\``,
        type,
        required.includes(name) ? 'required' : fallback,
        (field.description ?? '').replaceAll('<', '\\<'),
      ];
      const row = JSON.stringify(cells);
      readers.set(row, [...(readers.get(row) ?? []), app]);
    }
  }
  const apps = Object.keys(schemas);
  const all = (those: readonly string[]) => (those.length === apps.length ? 'all' : those.join(', '));
  const rows = [...readers].map(([row, those]) => [...(JSON.parse(row) as string[]), all(those)]);
  return table(['variable', 'value', 'default', 'meaning', 'read by'], rows);
}
