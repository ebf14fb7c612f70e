import { Injectable } from '@nestjs/common';
import { Db, hydrate, Keyring, systemCaller } from '@recur/platform';
import { hashOf, headText } from './chain.js';
import { type LogHead, logHeads, operationLogs } from './tables.js';

const limits = { entries: 1_000, merchants: 500 } as const;

/** What is true of a merchant's log. */
export interface Verdict {
  merchantId: number;
  /** How many entries there are by the head, and the hash of the last one. Kept elsewhere, it tells of a chain put back. */
  entries: number;
  hash: string;
  /** What is wrong: the first bad entry, and the head. Empty: every entry is as it was written, and none is missing. */
  problems: string[];
}

/** As far as the entries are right. */
interface Reached {
  n: number;
  hash: string;
  problem?: string;
}

const entriesAfter = `select * from operation_logs where merchant_id = $1 and (n, id) > ($2, $3) and n <= $4
  order by n, id limit ${limits.entries}`;
/** All that have rows here; API keys name a merchant, too, should somebody have taken it off the list. */
const merchantsAfter = `select merchant_id from (
    select merchant_id from tenants where merchant_id > $1 union select merchant_id from api_key_lookups where merchant_id > $1
  ) known order by merchant_id limit ${limits.merchants}`;

/** Verifies that the operation log is what was written. It reads page by page; the log may grow meanwhile. */
@Injectable()
export class LogVerification {
  constructor(
    private readonly db: Db,
    private readonly keyring: Keyring,
  ) {}

  /** The merchants that have, or had, anything here. */
  async *merchants(): AsyncGenerator<number> {
    for (let after = 0; ; ) {
      const rows = await this.db.infra(merchantsAfter, [after]);
      for (const { merchant_id } of rows) yield Number(merchant_id);
      if (rows.length < limits.merchants) return;
      after = Number(rows.at(-1)?.merchant_id);
    }
  }

  /** Whether there is such a merchant, or was. */
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
    if (!this.keyring.hasSigned(headText(head), head.signature)) {
      const { problem } = await this.follow(merchantId, Number.MAX_SAFE_INTEGER);
      return [...(problem ? [problem] : []), 'the head is not as it was signed'];
    }
    const { n, hash, problem } = await this.follow(merchantId, head.n);
    if (problem) return [problem];
    if (n < head.n) return [`entry ${n + 1} is missing, and all after it: there were ${head.n}`];
    // a chain that was made anew, to the same length
    if (hash !== head.hash) return [`entry ${n} is not the one that the head was signed for`];
    const beyond = await this.beyond(merchantId);
    return beyond === undefined ? [] : [`entry ${beyond} was never appended`];
  }

  /** Goes along the chain up to its n-th entry, or to the first that is not what it should be. */
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
        if (hashOf(reached.hash, entry) !== entry.hash) {
          return { ...reached, problem: `entry ${n} (id ${id}) is not as it was written` };
        }
        reached.n = n;
        reached.hash = entry.hash;
        from = [n, id];
      }
      if (rows.length < limits.entries) return reached;
    }
  }

  /** An entry that stands where the chain has not come to. What is appended meanwhile comes with its head. */
  private async beyond(merchantId: number): Promise<number | undefined> {
    const [last] = await this.read(merchantId, 'select max(n) as n from operation_logs where merchant_id = $1', []);
    const n = Number(last?.n ?? 0);
    const head = await this.head(merchantId);
    return n > (head?.n ?? 0) ? n : undefined;
  }

  /** A merchant of which nothing was logged has none. */
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
