import { Controller } from '@nestjs/common';
import { type In, type Invoice, keySearch, type Out, type User, usersByKey } from '@recur/contracts';
import { type Caller, Db, Handle, Questions, type Reader, type Wing } from '@recur/platform';
import { usersById } from '../customers/users.js';
import { invoicesNamed, moneyNamed } from '../invoices/lists/details.js';
import { ownerOf } from '../subscriptions/find.js';

const limits = { users: 20 } as const;

type FoundKeys = Out<typeof keySearch>;

/** search/key_search. Identity finds users; everything else is found here, by index. */
@Controller()
export class KeySearch {
  constructor(
    private readonly db: Db,
    private readonly questions: Questions,
  ) {}

  @Handle(keySearch)
  async search({ searchKey }: In<typeof keySearch>, caller: Caller): Promise<FoundKeys> {
    const key = searchKey.trim();
    const [{ named, others }, found] = await Promise.all([
      this.questions.ask(usersByKey, { key, most: limits.users }, caller),
      this.db.read(caller, reader => documentsFor(reader, key)),
    ]);
    const users = named ? [named, ...others.filter(({ id }) => id !== named.id)] : others;
    return {
      precisionMatchObject: named ? { type: 'user', id: String(named.id), data: { ...named } } : found.named,
      matchUserAccounts: users.length > 0 ? users.slice(0, limits.users) : found.users,
      matchInvoice: found.invoices,
    };
  }
}

interface FoundDocuments {
  named: FoundKeys['precisionMatchObject'];
  invoices: Invoice[];
  /** Users of what was found. */
  users: User[];
}

async function documentsFor(reader: Reader, key: string): Promise<FoundDocuments> {
  const other = (await moneyNamed(reader, key)) ?? (await ownerOf(reader, key));
  const invoices = await invoicesNamed(reader, other ? other.invoiceId : key);
  const userIds = [...invoices.map(({ userId }) => userId), ...(other ? [other.userId] : [])];
  const users = [...(await usersById(reader, [...new Set(userIds)])).values()];
  if (other) return { named: { type: other.type, id: key, data: {} }, invoices, users };
  // the digits of a number may be those of an invoice and of a credit note
  const [only, second] = invoices;
  const named = only && !second ? { type: invoiceTypeOf(only), id: only.invoiceId, data: { ...only } } : null;
  return { named, invoices, users };
}

const invoiceTypeOf = ({ originalPaymentInvoice }: Invoice) =>
  originalPaymentInvoice ? ('creditNote' as const) : ('invoice' as const);

/** The search field over users, invoices, subscriptions, payments and refunds. */
export const searchWing: Wing = {
  controllers: [KeySearch],
};
