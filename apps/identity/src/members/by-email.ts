import { Rejected } from '@recur/kernel';
import type { Caller, Db, Tx } from '@recur/platform';
import { merchants } from '../merchants/tables.js';
import { emailHash, memberWithEmail } from './member-rows.js';
import { type Member, memberEmails } from './tables.js';

/** Merchants that one sign-in looks at, and so the password hashes that it costs at most. */
const merchantsPerEmail = 8;

interface Search {
  /** Looks at this merchant alone. */
  merchantId?: number | undefined;
  /** The place of invitations that nobody took up. */
  pending: 'first' | 'last';
}

/** The members with an e-mail, of at most `merchantsPerEmail` merchants, the oldest merchants first. */
export async function membersWithEmail(
  db: Db,
  caller: Caller,
  email: string,
  { merchantId, pending }: Search,
): Promise<Member[]> {
  const rows = await db.infra(
    `select merchant_id from ${memberEmails.table}
     where email_hash = $1 and ($2::bigint is null or merchant_id = $2)
     order by pending ${pending === 'first' ? 'desc' : 'asc'}, merchant_id limit ${merchantsPerEmail}`,
    [emailHash(email.trim()), merchantId ?? null],
  );
  // an unknown e-mail is looked up too, in a merchant that does not exist (no timing oracle)
  const ids = rows.length > 0 ? rows.map(row => Number(row.merchant_id)) : [0];
  const found = await Promise.all(
    ids.map(id => db.read({ ...caller, merchantId: id }, reader => memberWithEmail(reader, email))),
  );
  return found.flatMap(member => member ?? []);
}

/** The refusal that lists the merchants of several members that a proof fits; `proof` completes "this e-mail and …". */
export async function severalMerchants(
  db: Db,
  caller: Caller,
  fitting: readonly Member[],
  proof: 'password' | 'code',
): Promise<Rejected> {
  const names = await Promise.all(
    fitting.map(({ merchantId }) =>
      db.read({ ...caller, merchantId }, async reader => (await reader.find(merchants, {}))?.name ?? ''),
    ),
  );
  return new Rejected(
    'invalid_parameters',
    `Several merchants have a member with this e-mail and ${proof}: choose one of them with merchantId`,
    fitting.map(({ merchantId }, at) => ({ path: '/merchantId', message: `${merchantId}: ${names[at]}` })),
  );
}

/** Takes a member that is set up now off the open invitations. */
export async function closeInvitation(tx: Tx, { merchantId, email }: Member): Promise<void> {
  const lookup = await tx.lockIfAny(memberEmails, { emailHash: emailHash(email), merchantId });
  if (lookup?.pending) tx.save(memberEmails, { ...lookup, pending: false });
}
