import { Rejected } from '@recur/kernel';
import type { Row } from '../pool.js';
import type { Session } from '../session.js';

/** A substring to search for: in which column, and the input field that asked for it. */
export interface Part {
  column: string;
  field: string;
  part: string | undefined;
}

const limits = { ids: 10_000 } as const;

/** An ILIKE pattern that matches every text that contains the part. */
export const contains = (part: string) => `%${part.replaceAll(/[\\%_]/g, '\\$&')}%`;

const searchText = (table: string, parts: readonly Part[]) =>
  `select id from ${table}_search where merchant_id = $1
     and ${parts.map(({ column }, at) => `${column} ilike $${at + 2}`).join(' and ')} limit ${limits.ids + 1}`;

/** The ids of the rows that contain every given part; see `Db.search`. */
export async function searched(session: Session, table: string, parts: readonly Part[]): Promise<number[] | undefined> {
  const asked = parts.filter(({ part }) => part);
  if (asked.length === 0) return undefined;
  const values = [session.merchantId, ...asked.map(({ part = '' }) => contains(part))];
  return idsOf(await session.queryUnprepared(searchText(table, asked), values), asked);
}

function idsOf(rows: readonly Row[], parts: readonly Part[]): number[] {
  if (rows.length <= limits.ids) return rows.map(({ id }) => Number(id));
  const message = `matches more than ${limits.ids} entries: enter more of it`;
  throw new Rejected(
    'invalid_parameters',
    undefined,
    parts.map(({ field }) => ({ path: `/${field}`, message: `${field} ${message}` })),
  );
}
