import { Injectable } from '@nestjs/common';
import { Db, hydrate, Keyring, systemCaller } from '@recur/platform';
import { entryHash, headText, logPurpose } from './chain.js';
import { type LogHead, logHeads, operationLogs } from './tables.js';

const pageSizes = { entries: 1_000, merchants: 500 } as const;

/** The result of verifying a merchant's log. */
export interface Verdict {
  merchantId: number;
  /** Number of entries according to the head, and the last hash. A copy kept elsewhere reveals a restored older chain. */
  entries: number;
  hash: string;
  /** The first bad entry and problems of the head. Empty: every entry is as it was written, and none is missing. */
  problems: string[];
}

/** The last entry that verified. */
interface Reached {
  n: number;
  hash: string;
  problem?: string;
}

const entriesAfter = `select * from operation_logs where merchant_id = $1 and (n, id) > ($2, $3) and n <= $4
  order by n, id limit ${pageSizes.entries}`;
/** Merchants with rows here. Lookups of API keys count too, in case a merchant was removed from `tenants`. */
const merchantsAfter = `select merchant_id from (
    select merchant_id from tenants where merchant_id > $1 union select merchant_id from api_key_lookups where merchant_id > $1
  ) known order by merchant_id limit ${pageSizes.merchants}`;

/** Verifies that the operation log is as it was written. Reads page by page; the log may grow meanwhile. */
@Injectable()
export class LogVerification {
  constructor(
    private readonly db: Db,
    private readonly keyring: Keyring,
  ) {}

  /** All merchants that have, or had, rows here. */
  async *merchants(): AsyncGenerator<number> {
    for (let after = 0; ; ) {
      const rows = await this.db.infra(merchantsAfter, [after]);
      for (const { merchant_id } of rows) yield Number(merchant_id);
      if (rows.length < pageSizes.merchants) return;
      after = Number(rows.at(-1)?.merchant_id);
    }
  }

  /** True if this merchant exists or existed. */
  async knows(merchantId: number): Promise<boolean> {
    const [row] = await this.db.infra(merchantsAfter, [merchantId - 1]);
    return Number(row?.merchant_id) === merchantId;
  }

  async verify(merchantId: number): Promise<Verdict> {
    const head = await this.head(merchantId);
    const { n: entries, hash } = head ?? { n: 0, hash: '' };
    return { merchantId, entries, hash, problems: await this.problems(merchantId, head) };
  }

  private async problems(merchantId: number, head: LogHead | undefined): Promise<string[]> {
    if (!head) return (await this.beyond(merchantId)) === undefined ? [] : ['the head is missing'];
    if (!this.keyring.hasSigned(logPurpose, headText(head), head.signature)) {
      const { problem } = await this.follow(merchantId, Number.MAX_SAFE_INTEGER);
      return [...(problem ? [problem] : []), 'the head is not as it was signed'];
    }
    const { n, hash, problem } = await this.follow(merchantId, head.n);
    if (problem) return [problem];
    if (n < head.n) return [`entry ${n + 1} is missing, and all after it: there were ${head.n}`];
    // a chain that was rebuilt to the same length
    if (hash !== head.hash) return [`entry ${n} is not the one that the head was signed for`];
    const beyond = await this.beyond(merchantId);
    return beyond === undefined ? [] : [`entry ${beyond} was never appended`];
  }

  /** Follows the chain to entry `to`, or to the first entry that does not verify. */
  private async follow(merchantId: number, to: number): Promise<Reached> {
    const reached: Reached = { n: 0, hash: '' };
    let from = [Number.MIN_SAFE_INTEGER, 0];
    for (;;) {
      const rows = await this.read(merchantId, entriesAfter, [...from, to]);
      for (const row of rows) {
        const entry = hydrate(operationLogs, row);
        const { n, id } = entry;
        if (n > reached.n + 1) return { ...reached, problem: `entry ${reached.n + 1} is missing` };
        if (n <= reached.n) return { ...reached, problem: `entry ${n} (id ${id}) was never appended` };
        if (entryHash(reached.hash, entry) !== entry.hash) {
          return { ...reached, problem: `entry ${n} (id ${id}) is not as it was written` };
        }
        reached.n = n;
        reached.hash = entry.hash;
        from = [n, id];
      }
      if (rows.length < pageSizes.entries) return reached;
    }
  }

  /** The position of an entry past the head; undefined for none. Concurrent appends move the head with them. */
  private async beyond(merchantId: number): Promise<number | undefined> {
    const [last] = await this.read(merchantId, 'select max(n) as n from operation_logs where merchant_id = $1', []);
    const n = Number(last?.n ?? 0);
    const head = await this.head(merchantId);
    return n > (head?.n ?? 0) ? n : undefined;
  }

  /** The head; undefined while nothing was logged. */
  private head(merchantId: number): Promise<LogHead | undefined> {
    return this.db.read(this.caller(merchantId), reader => reader.find(logHeads, {}));
  }

  private read(merchantId: number, text: string, values: readonly unknown[]) {
    return this.db.read(this.caller(merchantId), reader => reader.query(text, [merchantId, ...values]));
  }

  private caller(merchantId: number) {
    return systemCaller(merchantId, '', Number.POSITIVE_INFINITY);
  }
}
