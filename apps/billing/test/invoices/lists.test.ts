import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  bizType,
  type In,
  type Invoice,
  invoiceDetail,
  invoiceStatus,
  listInvoices,
  listPayments,
  newPayment,
  type PaymentDetail,
  paymentDetail,
  paymentStatus,
} from '@recur/contracts';
import { invoiceStates, type Shop, shop } from '../world/shop.js';

let s: Shop;
/** All invoices of the merchant, newest first, the deleted ones included; and all its payments. */
let all: Invoice[];
let paid: PaymentDetail[];
const people = [
  { id: 1, firstName: 'Ada', lastName: 'Lovelace', email: 'Ada@Example.com' },
  { id: 2, firstName: 'Adam', lastName: 'Ries', email: 'adam@example.com' },
  { id: 3, firstName: 'Grace', lastName: 'Hopper', email: 'grace@example.com' },
];

const invoices = (input: object = {}, merchantId = 15) => s.t.done(listInvoices, input, { merchantId });
const payments = (input: object = {}, merchantId = 15) => s.t.done(listPayments, input, { merchantId });
const idsOf = (of: readonly Invoice[]) => of.map(({ invoiceId }) => invoiceId);
const paymentIdsOf = (of: readonly PaymentDetail[]) => of.map(({ payment }) => payment.paymentId);

beforeAll(async () => {
  s = await shop();
  for (const { id, ...person } of people) s.knowUser(id, person);
  const { gatewayId } = s.gateway;
  await s.t.rows(
    `insert into gateways select merchant_id, 77, 'other', gateway_type, display_name, currency, minimum_amount, sort,
     icons, false, false, null, create_time, 1 from gateways where gateway_id = $1`,
    [gatewayId],
  );
  for (const state of invoiceStates) await s.inState(state);
  for (const [at, { id: userId }] of [...people, ...people, ...people].entries()) {
    s.clock.advance(at < 5 ? 0 : 3_600);
    const lines = [{ name: 'Talk', unitAmountExcludingTax: 100 * (1 + (at % 4)) }];
    const name = ['March hosting', 'March, again', 'march'][at % 3];
    const currency = at % 2 ? 'USD' : 'EUR';
    await s.made({ userId, lines, name, currency, gatewayId: at % 3 ? gatewayId : 77, finish: at % 4 !== 0 });
  }
  const sold = { totalAmount: 700, gatewayId: 77, countryCode: 'DE' };
  for (const currency of ['EUR', 'USD']) {
    s.clock.advance(60);
    await s.t.done(newPayment, { ...sold, currency, userId: 2 });
  }
  all = (await invoices({ deleteInclude: true, count: 100 })).invoices;
  paid = (await payments({ count: 100 })).paymentDetails;
  await s.stranger(16);
  await s.made({ finish: true }, { merchantId: 16 });
});
afterAll(() => s.t.close());

describe('invoice/list', () => {
  it('has every invoice of the merchant once, newest first, as invoice/detail shows it', async () => {
    expect(all).toHaveLength(19);
    expect(all).toEqual(all.toSorted((a, b) => b.createTime - a.createTime || b.id - a.id));
    for (const invoice of all) {
      const { invoice: shown } = await s.t.done(invoiceDetail, { invoiceId: invoice.invoiceId });
      expect(invoice).toEqual(shown);
    }
    expect(all[0]).toMatchObject({
      lines: [{ name: '' }],
      gateway: { gatewayId: 77 },
      payment: { status: paymentStatus.created },
    });
    expect(all[0]?.userAccount).toMatchObject({ firstName: 'Adam' });
  });

  const early = () => all[12]?.createTime ?? 0;
  const late = () => all[3]?.createTime ?? 0;
  const finished = ({ finishTime }: Invoice) => finishTime > 0;
  const live = ({ isDeleted }: Invoice) => isDeleted === 0;
  const cases: [
    string,
    () => Partial<Record<keyof In<typeof listInvoices>, unknown>>,
    (invoice: Invoice) => boolean,
  ][] = [
    ['nothing', () => ({}), () => true],
    ['blanks', () => ({ userId: 0, status: [], currency: '', searchKey: '', type: 0, amountEnd: 0 }), () => true],
    ['userId', () => ({ userId: 2 }), ({ userId }) => userId === 2],
    ['part of a first name', () => ({ firstName: 'ada' }), ({ userId }) => userId < 3],
    ['part of a last name', () => ({ lastName: 'LOVE' }), ({ userId }) => userId === 1],
    ['both names', () => ({ firstName: 'ada', lastName: 'ries' }), ({ userId }) => userId === 2],
    ['a name of nobody', () => ({ firstName: 'nobody' }), () => false],
    ['sendEmail', () => ({ sendEmail: 'aDA@example.com' }), ({ userId }) => userId === 1],
    ['an e-mail of nobody', () => ({ sendEmail: 'nobody@example.com' }), () => false],
    ['one status', () => ({ status: '4' }), ({ status }) => status === invoiceStatus.failed],
    ['several statuses', () => ({ status: '1,5,6' }), ({ status }) => [1, 5, 6].includes(status)],
    ['an unknown status', () => ({ status: [9] }), () => false],
    ['currency', () => ({ currency: 'usd' }), ({ currency }) => currency === 'USD'],
    ['one gateway', () => ({ gatewayIds: [77] }), ({ gatewayId }) => gatewayId === 77],
    ['several gateways', () => ({ gatewayIds: [77, 1] }), ({ gatewayId }) => [77, 1].includes(gatewayId)],
    ['type', () => ({ type: 1 }), ({ bizType }) => bizType === 1],
    ['amounts', () => ({ amountStart: 200, amountEnd: 400 }), it => it.totalAmount >= 200 && it.totalAmount <= 400],
    ['a least amount', () => ({ amountStart: '700' }), ({ totalAmount }) => totalAmount >= 700],
    ['createTimeStart', () => ({ createTimeStart: late() }), ({ createTime }) => createTime >= late()],
    ['createTimeEnd', () => ({ createTimeEnd: early() }), ({ createTime }) => createTime <= early()],
    ['reportTimeStart', () => ({ reportTimeStart: late() }), ({ finishTime }) => finishTime >= late()],
    ['reportTimeEnd', () => ({ reportTimeEnd: early() }), it => finished(it) && it.finishTime <= early()],
    ['an id', () => ({ searchKey: all[2]?.invoiceId }), ({ invoiceId }) => invoiceId === all[2]?.invoiceId],
    ['a number', () => ({ searchKey: 'INV-000003' }), ({ number }) => number === 'INV-000003'],
    ['the digits of a number', () => ({ searchKey: '3' }), ({ number }) => number === 'INV-000003'],
    ['the beginning of a name', () => ({ searchKey: 'March' }), it => it.invoiceName.startsWith('March')],
    ['a whole name', () => ({ searchKey: 'March, again' }), ({ invoiceName }) => invoiceName === 'March, again'],
    ['no name', () => ({ searchKey: '% or true' }), () => false],
    [
      'all at once',
      () => ({ userId: 2, firstName: 'adam', status: [1, 2], currency: 'EUR', amountStart: 1, createTimeStart: 1 }),
      it => it.userId === 2 && [1, 2].includes(it.status) && it.currency === 'EUR',
    ],
  ];
  it.each(cases)('filters by %s', async (_, input, fits) => {
    const expected = all.filter(invoice => live(invoice) && fits(invoice));
    const { invoices: found, total } = await invoices({ ...input(), count: 100 });
    expect(idsOf(found)).toEqual(idsOf(expected));
    expect(total).toBe(expected.length);
    const included = await invoices({ ...input(), deleteInclude: 'true', count: 100 });
    expect(idsOf(included.invoices)).toEqual(idsOf(all.filter(fits)));
  });

  it('is sorted by createTime or totalAmount, either way, over all pages', async () => {
    const by = { createTime: (it: Invoice) => it.createTime, totalAmount: (it: Invoice) => it.totalAmount };
    for (const sortField of ['createTime', 'totalAmount'] as const) {
      for (const [sortType, sign] of [
        ['asc', 1],
        ['desc', -1],
      ] as const) {
        const key = by[sortField];
        const expected = all.filter(live).toSorted((a, b) => sign * (key(a) - key(b) || a.id - b.id));
        const pages = await Promise.all([0, 1, 2, 3].map(page => invoices({ sortField, sortType, page, count: 5 })));
        expect(idsOf(pages.flatMap(page => page.invoices))).toEqual(idsOf(expected));
        expect(pages.map(({ total }) => total)).toEqual(pages.map(() => expected.length));
      }
    }
  });

  it('shows nobody else’s invoices', async () => {
    const { invoices: theirs, total } = await invoices({ firstName: '' }, 16);
    expect([theirs.length, total, theirs[0]?.merchantId]).toEqual([1, 1, 16]);
    const own = await invoices({ searchKey: all[0]?.invoiceId }, 16);
    expect(own).toEqual({ invoices: [], total: 0 });
  });

  it('refuses pages and orders that there are not, and names of too many', async () => {
    const paths = async (input: object) => {
      const result = await s.t.call(listInvoices, input);
      return result.ok ? [] : result.issues.map(({ path }) => path);
    };
    expect(await paths({ count: 1_001 })).toEqual(['/count']);
    expect(await paths({ page: 100, count: 100 })).toEqual(['/page']);
    expect(await paths({ sortField: 'finishTime' })).toEqual(['/sortField']);
    expect(await paths({ status: 'x' })).toEqual(['/status/0']);
    await s.t.rows(`insert into user_copies_search select 15, n, 'Many', 'Name' from generate_series(100, 10_100) n`);
    expect(await paths({ firstName: 'many' })).toEqual(['/firstName']);
  });

  it('follows a user who is renamed', async () => {
    await s.t.rows(
      `update user_copies set data = data || '{"firstName":"Rear Admiral"}' where id = 3 and merchant_id = 15`,
    );
    const { invoices: found } = await invoices({ firstName: 'admiral', count: 100 });
    expect(idsOf(found)).toEqual(idsOf(all.filter(({ userId }) => userId === 3)));
    expect(await invoices({ firstName: 'grace' })).toMatchObject({ total: 0 });
  });
});

describe('payment/list', () => {
  it('has every payment of the merchant once, newest first, as payment/detail shows it', async () => {
    const rows = await s.t.rows(
      `select payment_id from payments where merchant_id = 15 order by create_time desc, payment_id desc`,
    );
    expect(paymentIdsOf(paid)).toEqual(rows.map(({ payment_id }) => payment_id));
    const [first, ...others] = (await payments({ count: 100 })).paymentDetails;
    for (const detail of [first, ...others]) {
      const paymentId = detail?.payment.paymentId ?? '';
      expect((await s.t.done(paymentDetail, { paymentId })).paymentDetail).toEqual(detail);
    }
    expect(first).toMatchObject({
      payment: { status: paymentStatus.created, currency: 'USD' },
      invoice: { bizType: bizType.onetime, lines: [{ amount: 700 }], gateway: { gatewayId: 77 }, payment: null },
      gateway: { gatewayId: 77 },
      user: { id: 2 },
    });
  });

  const cases: [string, Partial<Record<keyof In<typeof listPayments>, unknown>>, (detail: PaymentDetail) => boolean][] =
    [
      ['blanks', { gatewayId: 0, userId: '0', email: '', status: 0, currency: '', countryCode: '' }, () => true],
      ['userId', { userId: '1' }, ({ payment }) => payment.userId === 1],
      ['email', { email: 'ADAM@example.com' }, ({ payment }) => payment.userId === 2],
      ['an e-mail of nobody', { email: 'nobody@example.com' }, () => false],
      ['gatewayId', { gatewayId: 77 }, ({ payment }) => payment.gatewayId === 77],
      ['status', { status: paymentStatus.cancelled }, ({ payment }) => payment.status === paymentStatus.cancelled],
      ['an unknown status', { status: 41 }, () => false],
      ['currency', { currency: 'usd' }, ({ payment }) => payment.currency === 'USD'],
      ['countryCode', { countryCode: 'de' }, ({ payment }) => payment.countryCode === 'DE'],
      [
        'several',
        { userId: 2, currency: 'EUR', status: paymentStatus.created },
        ({ payment: { userId, currency, status } }) => userId === 2 && currency === 'EUR' && status === 10,
      ],
    ];
  it.each(cases)('filters by %s', async (_, input, fits) => {
    const { paymentDetails, total } = await payments({ ...input, count: 100 });
    expect(paymentIdsOf(paymentDetails)).toEqual(paymentIdsOf(paid.filter(fits)));
    expect(total).toBe(paymentDetails.length);
  });

  it('is paged, either way, and shows nobody else’s payments', async () => {
    const pages = await Promise.all([0, 1, 2, 3].map(page => payments({ sortType: 'asc', page, count: 4 })));
    const ids = pages.flatMap(({ paymentDetails }) => paymentIdsOf(paymentDetails));
    expect(ids).toEqual(paymentIdsOf(paid).toReversed());
    expect((await payments({}, 16)).paymentDetails).toMatchObject([{ payment: { merchantId: 16 } }]);
    expect(await payments({}, 17)).toEqual({ paymentDetails: [], total: 0 });
  });
});
