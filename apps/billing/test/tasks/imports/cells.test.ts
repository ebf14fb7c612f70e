import { expect, it } from '@jest/globals';
import { type ImportTask, importColumns, importTasks } from '@recur/contracts';
import { resultColumns, rowsIn } from '../../../src/tasks/imports/cells.js';

const read = (task: ImportTask, header: string[], ...cells: string[][]) =>
  rowsIn(task, { format: 'csv', header, rows: cells.map((row, at) => ({ row: at + 2, cells: row })) });
const issuesOf = (header: string[], ...cells: string[][]) =>
  read('UserImport', header, ...cells).issues.map(({ row, column, message }) => `${row} ${column} ${message}`);

/** The value of a cell in a column of an active subscription, or the rule that it breaks. */
function cell(column: string, text: string): unknown {
  const columns = importColumns('ActiveSubscriptionImport');
  const header = [...Object.keys(columns).filter(name => columns[name]?.required && name !== column), column];
  const values = header.map(name => (name === column ? text : columns[name]?.is === 'time' ? '2026-01-31' : 'x'));
  const { rows, issues } = read('ActiveSubscriptionImport', header, values);
  if (issues.length > 0) return issues.map(issue => `${issue.column} ${issue.message}`);
  return (rows[0]?.fields as Record<string, unknown> | undefined)?.[column];
}

it.each([
  ['Quantity', '12', 12],
  ['Amount', '12.340', '12.340'],
  ['TaxPercentage', '8.25', 825],
  ['TaxPercentage', '19%', 1_900],
  ['TaxPercentage', '0.5', 50],
  ['TaxPercentage', '100', 10_000],
  ['CurrentPeriodEnd', '2026-02-28', Date.UTC(2026, 1, 28) / 1_000],
  ['CurrentPeriodEnd', '2026-02-28 09:30:05', Date.UTC(2026, 1, 28, 9, 30, 5) / 1_000],
  ['CurrentPeriodEnd', '2026-02-28T09:30:05.123Z', Date.UTC(2026, 1, 28, 9, 30, 5) / 1_000],
  ['CancelAtPeriodEnd', 'Yes', true],
  ['CancelAtPeriodEnd', '0', false],
  ['Metadata', '{"tier": "gold"}', { tier: 'gold' }],
  ['Gateway', 'Größe 中', 'Größe 中'],
  ['Quantity', '', undefined],
])('a cell of %s with %j is read', (column, text, value) => {
  expect(cell(column, text)).toEqual(value);
});

it.each([
  ['Quantity', ['0', '-1', '1.5', '1e3', 'two'], 'must be a whole number of at least 1'],
  ['Amount', ['12,34', '-1', '.5', '1.23456', '1e3', '1234567890123'], 'must be an amount such as 12.34'],
  ['TaxPercentage', ['101', '100.01', '8.255', '-1', 'x'], 'must be a percentage from 0 to 100 such as 8.25'],
  [
    'CurrentPeriodEnd',
    ['2026-02-29', '28.02.2026', '2026-02-28 24:00:00', '2026-02-28 09:30', '1767225600', '1969-12-31'],
    'must be a time in UTC such as 2026-01-31 09:30:00',
  ],
  ['CancelAtPeriodEnd', ['maybe'], 'must be yes or no'],
  ['Metadata', ['{tier: gold}'], 'must be JSON'],
  ['Gateway', ['x'.repeat(256), 'a\u0000b'], 'must have at most 255 characters, none of them a control character'],
  ['Gateway', [''], 'is required'],
])('cells of %s with %j break its rule', (column, texts, rule) => {
  for (const text of texts) expect(cell(column, text)).toEqual([`${column} ${rule}`]);
});

it('a header is known without case, spaces and remarks, and by the names of other systems', () => {
  const { rows, issues } = read(
    'UserImport',
    ['e-mail'.replace('-', ''), 'External User_ID (yours)'],
    ['a@x.example', 'u1'],
  );
  expect(issues).toEqual([]);
  expect(rows).toEqual([{ row: 2, fields: { Email: 'a@x.example', ExternalUserId: 'u1' } }]);
  const columns = Object.keys(importColumns('ActiveSubscriptionImport'));
  const named = columns.map(name => (name === 'GatewayUserId' ? 'Stripe User Id (Auto-Charge Required)' : name));
  expect(read('ActiveSubscriptionImport', named).issues.map(({ message }) => message)).toEqual([
    'There are no rows below the header',
  ]);
});

it('a header that lacks a column, has it twice, or has one that is none, is at fault', () => {
  expect(issuesOf(['FirstName', 'Phone', 'phone', 'Shoe size'], ['Ada'])).toEqual([
    '1 phone is there twice',
    expect.stringMatching(/^1 Shoe size is no column of UserImport: those are Email, ExternalUserId, /),
    '1 Email is required: the header lacks it',
  ]);
});

it('columns of results have no effect in a file that is sent again', () => {
  for (const task of importTasks) {
    const unknown = read(task, [...resultColumns], []).issues.filter(({ message }) =>
      message.startsWith('is no column'),
    );
    expect(unknown).toEqual([]);
    expect(
      Object.keys(importColumns(task)).filter(name => (resultColumns as readonly string[]).includes(name)),
    ).toEqual([]);
  }
});
