import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { billing } from '../src/service.js';

const src = path.join(import.meta.dirname, '../src');

/**
 * Handlers that write without a transaction, and the unique index that decides for each. They lock nothing: what they
 * read may change before they commit, so it may only be what another command could change right after them, too.
 */
const decides: Record<string, { index: string; reads: string }> = {
  'invoices/operations/invoice-drafts.ts newInvoice': {
    index: 'invoices_pkey',
    reads: 'user, gateway and plans, which are read again when the draft is finished or are snapshots',
  },
  'usage/events/usage-events.ts newUsageEvent': {
    index: 'usage_event_keys_pkey',
    reads: 'nothing: the event is recorded in a transaction of its own, and the answer alone is appended',
  },
  'usage/events/usage-events.ts ingestUsageEvents': {
    index: 'usage_event_keys_pkey',
    reads: 'nothing: the events are recorded in transactions of their own, and the answer alone is appended',
  },
  'usage/user-usage.ts subscriptionUsage': {
    index: 'metric_copies_pkey',
    reads: 'copies of user and metric, to have missing ones asked of their owners; nothing is appended',
  },
};

/** `<file> <operation>` of every call of `db.append`. */
function appends(file: string, text: string): string[] {
  const handlers = [...text.matchAll(/@Handle\((\w+)\)/g)];
  return [...text.matchAll(/\bdb\s*\.append\b/g)].map(({ index }) => {
    const handler = handlers.filter(match => match.index < index).at(-1);
    return `${file} ${handler?.[1] ?? '?'}`;
  });
}

const indices = billing.schema.tables.flatMap(({ table, entity }) => [
  `${table}_pkey`,
  ...(entity.indices ?? []).flatMap(({ name, unique }) => (unique && name ? [name] : [])),
]);

describe('handlers that write without a transaction', () => {
  it('are known, each with an existing unique index that decides for it', () => {
    const found = readdirSync(src, { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.ts'))
      .flatMap(file => appends(file, readFileSync(path.join(src, file), 'utf8')));
    expect(found.toSorted()).toEqual(Object.keys(decides).toSorted());
    for (const { index } of Object.values(decides)) expect(indices).toContain(index);
  });

  it('the guard sees a new one', () => {
    const planted = `class A {\n  @Handle(x)\n  make(input: X, caller: Caller) {\n    return this.db.append(caller, run);\n  }\n}\n`;
    expect(appends('a.ts', planted)).toEqual(['a.ts x']);
  });
});
