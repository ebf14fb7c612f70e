import pg from 'pg';

/** Statements for one connection, in order. */
export interface Section {
  database: string;
  statements: string[];
}

/**
 * Reads the part of psql's language that deploy/postgres-init.sql uses, so that the local stack and a deployment set
 * up their databases from one text: `\connect` starts a section, `:'name'` is a quoted value, `\set` and `\getenv`
 * are for psql only. A statement ends with the semicolon at the end of its line.
 * @throws Error for any other backslash command, or a value that is not given.
 */
export function readPsqlScript(script: string, database: string, values: Record<string, string>): Section[] {
  const sections: Section[] = [{ database, statements: [] }];
  let statement = '';
  for (const line of script.split('\n')) {
    const text = line.replace(/^\s*--.*$/, '').trimEnd();
    if (text === '') continue;
    if (text.startsWith('\\')) {
      const [command, argument = ''] = text.split(/\s+/);
      if (command === '\\connect') sections.push({ database: argument, statements: [] });
      else if (command !== '\\set' && command !== '\\getenv') throw new Error(`psql command not known here: ${text}`);
      continue;
    }
    statement += `${text}\n`;
    if (!text.endsWith(';')) continue;
    sections.at(-1)?.statements.push(withValues(statement.trim(), values));
    statement = '';
  }
  if (statement !== '') throw new Error(`statement without an end: ${statement}`);
  return sections;
}

function withValues(statement: string, values: Record<string, string>): string {
  return statement.replace(/:'(\w+)'/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`no value for :'${name}'`);
    return pg.escapeLiteral(value);
  });
}
