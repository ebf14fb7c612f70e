import { Controller } from '@nestjs/common';
import {
  getUser,
  type In,
  listUsers,
  type Out,
  searchUsers,
  subscriptionStatus,
  userStatus,
  usersByKey,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, type Condition, contains, Db, each, given, Handle, type Reader, sorted } from '@recur/platform';
import { subscriptions } from '../copies/tables.js';
import { emailKey } from '../domain/email.js';
import { accountDetails, accountOf, viewsOf } from './accounts.js';
import { userAggregate } from './aggregate.js';
import { type User as UserRow, users } from './tables.js';
import { userView } from './views.js';

/**
 * Users in a search result, how many of the newest users a search scans before it uses the index, and the shortest part of
 * a text that a key search looks for: the index has parts of three characters.
 */
const searchLimits = { results: 100, scannedFirst: 10_000, scannedByKey: 1_000, shortest: 3 } as const;
const newest = 'create_time desc, id desc';
const subscriptionStatuses: readonly number[] = Object.values(subscriptionStatus);

/** The newest matches among the newest users; texts are joined as in the column `anything` of users_search. */
const newestThatFit = (among: number | 'all', results: number) => `
  select id from (select * from users where merchant_id = $1 order by ${newest} limit ${among}) newest
  where concat_ws(E'\\n', email, concat_ws(' ', first_name, last_name), external_user_id, profile ->> 'companyName')
    ilike $2 order by ${newest} limit ${results}`;

/** Lists and searches users. */
@Controller()
export class UserLists {
  constructor(private readonly db: Db) {}

  @Handle(getUser)
  get({ userId }: In<typeof getUser>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const user = await reader.get(userAggregate, userId, 'user_not_found');
      return { user: await accountOf(reader, userView(user), user) };
    });
  }

  @Handle(listUsers)
  async list(input: In<typeof listUsers>, caller: Caller) {
    const { page, count } = input;
    const byText = await usersByText(this.db, caller, input);
    return this.db.read(caller, async reader => {
      const where = await usersWhere(reader, input, byText);
      if (!where) return { userAccounts: [], total: 0 };
      const order = sorted({ createTime: 'create_time' }, input);
      const { rows, total } = await reader.page({ from: users, where, order, page, count });
      return { userAccounts: await accountDetails(reader, rows), total };
    });
  }

  @Handle(searchUsers)
  async search({ searchKey }: In<typeof searchUsers>, caller: Caller) {
    const ids = searchKey ? await this.newestFitting(caller, searchKey) : undefined;
    return this.db.read(caller, async reader => {
      const { rows } = await reader.page({
        from: users,
        where: [['id = any(?)', ids]],
        order: newest,
        page: 0,
        count: searchLimits.results,
      });
      return { userAccounts: await accountDetails(reader, rows) };
    });
  }

  @Handle(usersByKey)
  async byKey({ key, most }: In<typeof usersByKey>, caller: Caller): Promise<Out<typeof usersByKey>> {
    const [named] = await this.db.read(caller, async reader => viewsOf(reader, await namedBy(reader, key)));
    if (named || key.length < searchLimits.shortest) return { named: named ?? null, others: [] };
    const ids = await this.newestFitting(caller, key, { results: most, scannedFirst: searchLimits.scannedByKey });
    return this.db.read(caller, async reader => {
      const where: Condition[] = [['id = any(?)', ids]];
      const { rows } = await reader.page({ from: users, where, order: newest, page: 0, count: most });
      return { named: null, others: await viewsOf(reader, rows) };
    });
  }

  /** Frequent matches are found quickly among the newest users, rare ones by the trigram index. */
  private async newestFitting(
    caller: Caller,
    searchKey: string,
    { results, scannedFirst }: { results: number; scannedFirst: number } = searchLimits,
  ): Promise<number[]> {
    const among = (count: number | 'all') =>
      this.db.read(caller, async reader => {
        const rows = await reader.query(newestThatFit(count, results), [reader.merchantId, contains(searchKey)]);
        return rows.map(({ id }) => Number(id));
      });
    const ids = await among(scannedFirst);
    if (ids.length === results) return ids;
    try {
      return (await fitting(this.db, caller, searchKey)) ?? [];
    } catch (error) {
      const many = error instanceof Rejected && error.slug === 'invalid_parameters';
      if (many) return among('all');
      throw error;
    }
  }
}

type Input = In<typeof listUsers>;
type UserIds = number[] | undefined;

/** Ids of the users whose texts the filters tell; undefined for a filter that is not given. */
export async function usersByText(db: Db, caller: Caller, input: Input): Promise<{ named: UserIds; keyed: UserIds }> {
  const { email, firstName, lastName, searchKey } = input;
  const [named, keyed] = await Promise.all([
    db.search(caller, 'users', [
      { column: 'email', field: 'email', part: email },
      { column: 'first_name', field: 'firstName', part: firstName },
      { column: 'last_name', field: 'lastName', part: lastName },
    ]),
    fitting(db, caller, searchKey),
  ]);
  return { named, keyed };
}

/** The conditions of user/list; undefined where nobody can fit. */
export async function usersWhere(
  reader: Reader,
  input: Input,
  { named, keyed }: Awaited<ReturnType<typeof usersByText>>,
): Promise<Condition[] | undefined> {
  const withStatus = statuses(input.status);
  const subStatus = given(input.subStatus)?.filter(code => subscriptionStatuses.includes(code));
  if (withStatus?.length === 0 || subStatus?.length === 0) return undefined;
  const subscriptionId = given(input.subscriptionId);
  const subscription = subscriptionId ? await reader.find(subscriptions, { id: subscriptionId }) : undefined;
  if (subscriptionId && !subscription) return undefined;
  return [
    ['id = ?', given(input.userId)],
    ['id = ?', subscription?.userId],
    ['external_user_id = ?', given(input.externalUserId)],
    ['id = any(?)', named],
    ['id = any(?)', keyed],
    oneOf('status', withStatus),
    oneOf('gateway_id', given(input.gatewayIds)),
    each('plan_id', given(input.planIds)),
    each('subscription_status', subStatus),
    ['create_time >= ?', given(input.createTimeStart)],
    ['create_time <= ?', given(input.createTimeEnd)],
  ];
}

/** Ids of users whose texts contain the key, or whose id it is; undefined without a key. */
async function fitting(db: Db, caller: Caller, searchKey: string | undefined): Promise<UserIds> {
  const ids = await db.search(caller, 'users', [{ column: 'anything', field: 'searchKey', part: searchKey }]);
  const isId = /^\d{1,15}$/.test(searchKey ?? '');
  return ids && isId ? [...ids, Number(searchKey)] : ids;
}

/** The user with this id, e-mail or externalUserId, in this order. */
async function namedBy(reader: Reader, key: string): Promise<UserRow[]> {
  const byId = /^\d{1,15}$/.test(key) ? reader.find(users, { id: Number(key) }) : undefined;
  const byEmail = reader.find(users, { emailKey: emailKey(key) });
  // the condition of the partial index, which the planner cannot see in a parameter
  const byExternalId = reader.all(users, { externalUserId: key }, `and external_user_id <> '' limit 1`);
  const found = (await byId) ?? (await byEmail) ?? (await byExternalId)[0];
  return found ? [found] : [];
}

/** A condition on values. A single value is an equality, so that the index yields the order without a sort. */
function oneOf(column: string, values: readonly unknown[] | undefined): Condition {
  return values?.length === 1 ? [`${column} = ?`, values[0]] : [`${column} = any(?)`, values];
}

/** The status names of the given codes; undefined without codes. */
function statuses(codes: readonly number[] | undefined): string[] | undefined {
  const names = Object.entries(userStatus).flatMap(([name, code]) => (codes?.includes(code) ? [name] : []));
  return given(codes) && names;
}
