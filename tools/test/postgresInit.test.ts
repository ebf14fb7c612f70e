import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { checkoutRoot } from '../local/home.js';
import { readPsqlScript } from '../local/psqlScript.js';
import { services } from '../local/settings.js';

const script = readFileSync(path.join(checkoutRoot(), 'deploy/postgres-init.sql'), 'utf8');
const passwords = services.flatMap(service => [`${service}_owner_password`, `${service}_app_password`]);
const values = Object.fromEntries(passwords.map(name => [name, `secret of ${name}`]));

describe('deploy/postgres-init.sql', () => {
  it('makes a database and two roles for each service, and sets up each database inside itself', () => {
    const sections = readPsqlScript(script, 'postgres', values);
    expect(sections.map(section => section.database)).toEqual([
      'postgres',
      ...services.map(service => `recur_${service}`),
    ]);
    const all = sections.flatMap(section => section.statements).join('\n');
    for (const service of services) {
      expect(all).toContain(`create database recur_${service} owner ${service}_owner;`);
      expect(all).toContain(`create role ${service}_app login`);
      expect(all).toContain(`password 'secret of ${service}_owner_password'`);
    }
  });

  it('takes every password from the environment when psql runs it', () => {
    for (const name of passwords) expect(script).toContain(`\\getenv ${name} ${name.toUpperCase()}`);
  });
});

describe('reading a psql script', () => {
  it('quotes values', () => {
    const [section] = readPsqlScript("create role a password :'word';", 'postgres', { word: "it's" });
    expect(section?.statements).toEqual(["create role a password 'it''s';"]);
  });

  it('joins the lines of a statement and leaves comments out', () => {
    const [section] = readPsqlScript('-- why\nselect 1,\n  2;\nselect 3;\n', 'postgres', {});
    expect(section?.statements).toEqual(['select 1,\n  2;', 'select 3;']);
  });

  it.each([
    ['\\include other.sql', /not known here/],
    ["select :'missing';", /no value for/],
    ['select 1', /without an end/],
  ])('refuses what it does not understand: %s', (text, reason) => {
    expect(() => readPsqlScript(text, 'postgres', {})).toThrow(reason);
  });
});
