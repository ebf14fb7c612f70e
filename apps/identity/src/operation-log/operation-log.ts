import { type INestApplicationContext, Injectable } from '@nestjs/common';
import { type In, OperationLogged, operationLogList, optAccountTypeOf, services } from '@recur/contracts';
import {
  type Caller,
  type Condition,
  type Consumption,
  Db,
  type Event,
  given,
  Handle,
  Keyring,
  type Known,
  type Reader,
  type Tx,
} from '@recur/platform';
import { type Member, members } from '../members/tables.js';
import { hashOf, headText } from './chain.js';
import { type LogEntry, type LogHead, logHeads, operationLogs } from './tables.js';
import { logEntryView } from './views.js';

@Injectable()
export class OperationLog {
  constructor(private readonly db: Db) {}

  @Handle(operationLogList)
  async list({ page, count, ...filters }: In<typeof operationLogList>, caller: Caller) {
    const [acting, concerned] = await Promise.all([
      this.db.search(caller, 'members', [
        { column: 'first_name', field: 'memberFirstName', part: filters.memberFirstName },
        { column: 'last_name', field: 'memberLastName', part: filters.memberLastName },
        { column: 'email', field: 'memberEmail', part: filters.memberEmail },
      ]),
      this.db.search(caller, 'users', [
        { column: 'first_name', field: 'firstName', part: filters.firstName },
        { column: 'last_name', field: 'lastName', part: filters.lastName },
        { column: 'email', field: 'email', part: filters.email },
      ]),
    ]);
    if (acting?.length === 0 || concerned?.length === 0) return { merchantOperationLogs: [], total: 0 };
    const exactly: Condition[] = [
      ['subscription_id = ?', given(filters.subscriptionId)],
      ['invoice_id = ?', given(filters.invoiceId)],
      ['plan_id = ?', given(filters.planId)],
      ['discount_code = ?', given(filters.discountCode)],
    ];
    const where = [among('member_id', acting), among('user_id', concerned), ...exactly];
    // how many entries are whose is counted ahead, and no more than that
    const uncounted = exactly.some(([, value]) => value !== undefined) || (acting && concerned);
    return this.db.read(caller, async reader => {
      const order = 'create_time desc, id desc';
      const known = uncounted ? undefined : await knownOf(reader, acting, concerned);
      const sparse = acting !== undefined || concerned !== undefined;
      const { rows, total } = await reader.page({ from: operationLogs, where, order, page, count, sparse, known });
      const members = await membersOf(reader, rows);
      return { merchantOperationLogs: rows.map(row => logEntryView(row, members.get(row.memberId))), total };
    });
  }
}

type Ids = readonly number[] | undefined;

const counted = `select n, (select coalesce(sum(n), 0) from operation_log_tallies
    where merchant_id = $1 and kind = $2 and id = any($3::bigint[])) as fitting
  from operation_log_tallies where merchant_id = $1 and kind = 'all'`;

/** How many entries there are of these members, or of these users, or at all. */
async function knownOf(reader: Reader, acting: Ids, concerned: Ids): Promise<Known> {
  const ids = acting ?? concerned ?? [0];
  const kind = acting ? 'member' : concerned ? 'user' : 'all';
  const [row] = await reader.query(counted, [reader.merchantId, kind, `{${ids}}`]);
  return { fitting: Number(row?.fitting ?? 0), among: Number(row?.n ?? 0) };
}

/**
 * One id is equality, so that its index gives the order too. Of more, the first part is that of the partial index, and
 * they are written as PostgreSQL reads them: the driver takes long over thousands.
 */
const among = (column: string, ids: Ids): Condition =>
  ids?.length === 1 ? [`${column} = ?`, ids[0]] : [`${column} <> 0 and ${column} = any(?)`, ids && `{${ids}}`];

/** The members who are named in these rows, by id. */
export async function membersOf(reader: Reader, rows: readonly { memberId: number }[]): Promise<Map<number, Member>> {
  const ids = [...new Set(rows.map(({ memberId }) => memberId))].filter(id => id !== 0);
  const found = await Promise.all(ids.map(id => reader.find(members, { id })));
  return new Map(found.flatMap(member => (member ? [[member.id, member]] : [])));
}

/** Every service, identity too, says what was done by `operation.logged`; the log is made of nothing else. */
export const logConsumptions = (app: INestApplicationContext): Consumption[] => {
  const keyring = app.get(Keyring);
  return services.map(from => ({
    name: `identity-log-${from}`,
    from,
    subject: 'operation.logged',
    order: 'alone',
    apply: (tx, events) => record(tx, events, keyring),
  }));
};

/**
 * Appends a batch to its merchant's chain: one statement with the commit, whatever its length. Batches of one merchant,
 * of whatever replica, come one after the other, under the lock of the head; the inbox keeps an entry from coming twice.
 */
async function record(tx: Tx, events: readonly Event[], keyring: Keyring): Promise<void> {
  const ids = await Promise.all(events.map(() => tx.nextId(operationLogs)));
  const entries = events.map((event, at) => entry(event, ids[at] ?? 0));
  let { n, hash } = await lockedHead(tx);
  for (const next of entries) {
    next.n = ++n;
    hash = next.hash = hashOf(hash, next);
    tx.save(operationLogs, next);
  }
  const head = { merchantId: tx.merchantId, n, hash };
  tx.save(logHeads, { ...head, signature: keyring.sign(headText(head)) });
}

async function lockedHead(tx: Tx): Promise<LogHead> {
  const head = await tx.lockIfAny(logHeads, {});
  if (head) return head;
  const begin = 'insert into operation_log_heads (merchant_id, n, hash, signature) values ($1, 0, $2, $2)';
  await tx.run(`${begin} on conflict do nothing`, [tx.merchantId, '']);
  return tx.lock(logHeads, {}, 'internal_error');
}

/** An entry that has no place in the chain yet. */
function entry({ merchantId, at, data }: Event, id: number): LogEntry {
  const { actor, target, content, ids } = OperationLogged.parse(data);
  return {
    merchantId,
    n: 0,
    id,
    createTime: at,
    optAccountType: optAccountTypeOf(actor),
    optAccountId: actor.id,
    optAccount: actor.display,
    memberId: actor.kind === 'member' ? Number(actor.id) : 0,
    optTarget: target,
    optContent: content,
    userId: ids.userId ?? 0,
    planId: ids.planId ?? 0,
    invoiceId: ids.invoiceId ?? '',
    subscriptionId: ids.subscriptionId ?? '',
    discountCode: ids.discountCode ?? '',
    hash: '',
  };
}
