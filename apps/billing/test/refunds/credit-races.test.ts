import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { cancelInvoice, finishInvoice, type Invoice, invoiceStatus } from '@recur/contracts';
import { type Shop, shop } from '../world/shop.js';

let s: Shop;
beforeAll(async () => {
  s = await shop();
});
afterAll(() => s.t.close());

const ACCOUNTS = 200;
const order = { taxPercentage: 0, lines: [{ name: 'Plan', unitAmountExcludingTax: 2000 }] };
const finish = ({ invoiceId }: Invoice) => s.t.done(finishInvoice, { invoiceId, daysUtilDue: 3 });

/** Accounts whose transactions do not follow from one another, or whose balance is not where they lead. */
const broken = () =>
  s.t.rows(
    `select credit_id from (
       select t.credit_id, t.sequence, t.before, a.balance, a.last_sequence,
         lag(t.after, 1, 0) over (partition by t.credit_id order by t.sequence) as led_to,
         row_number() over (partition by t.credit_id order by t.sequence) as place,
         count(*) over (partition by t.credit_id) as entries,
         sum(t.delta) over (partition by t.credit_id) as total
       from credit_transactions t join credit_accounts a using (merchant_id, credit_id)
     ) chain where before <> led_to or sequence <> place or total <> balance or entries <> last_sequence or balance < 0`,
  );

it('two invoices that spend one account at once, on 200 accounts, share it: never negative, nothing spent twice', async () => {
  const ends = new Map<string, number>();
  for (let round = 0; round < ACCOUNTS / 20; round++) {
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const userId = await s.userWithCredit({ main: 3000n });
        const drafts = await Promise.all([s.made({ userId, ...order }), s.made({ userId, ...order })]);
        const spent = await Promise.all(drafts.map(finish));
        const paid = spent.map(({ invoice }) => invoice.partialCreditPaidAmount).toSorted((a, b) => a - b);
        const [account] = await s.t.rows('select balance from credit_accounts where user_id = $1', [userId]);
        // one is paid whole; it cannot be cancelled, so what the other spent comes back alone
        const open = spent.find(({ invoice }) => invoice.status === invoiceStatus.processing)?.invoice;
        const third = await s.made({ userId, ...order });
        const [, last] = await Promise.all([
          open && s.t.done(cancelInvoice, { invoiceId: open.invoiceId }),
          finish(third),
        ]);
        const [after] = await s.t.rows('select balance from credit_accounts where user_id = $1', [userId]);
        const kept = Number(after?.balance) + last.invoice.partialCreditPaidAmount;
        const end = `${paid} of 3000, ${account?.balance} left; then ${kept} back or spent`;
        ends.set(end, (ends.get(end) ?? 0) + 1);
      }),
    );
  }
  expect([...ends]).toEqual([['1000,2000 of 3000, 0 left; then 1000 back or spent', ACCOUNTS]]);
  expect(await broken()).toEqual([]);
});
