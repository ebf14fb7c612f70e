import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The money of invoices: credit notes and their series of numbers, taxes by rate, credit spent, refunds, money that
 * arrived beyond what was due, and the copy of merchants. The defaults stay, since apps of the previous version still
 * write these tables; their invoices have no tax groups and count as numbered by their text.
 */
export class Money1763683200014 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    for (const name of ['refunds', 'payment_surpluses', 'merchant_copies']) {
      await runner.query(secureV1(name));
      await runner.query(`grant select, insert, update, delete on ${name} to billing_app`);
    }
    for (const statement of filled) await runner.query(statement);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const none = (type: 'text' | 'bigint' | 'integer', ...columns: string[]) =>
  columns.map(column => `add ${column} ${type} not null default ${type === 'text' ? `''` : 0}`).join(', ');

/** Columns in the order of the list that each index serves; credit notes have lists of their own. */
const lists = {
  newest: 'create_time, id, deleted_time, user_id, total_amount',
  user: 'user_id, create_time, id, deleted_time',
  in_status: 'status, create_time, id, deleted_time',
  type: 'biz_type, create_time, id, deleted_time',
  currency: 'currency, create_time, id, deleted_time',
  gateway: 'gateway_id, create_time, id, deleted_time',
  amount: 'total_amount, id, create_time, deleted_time',
  finished: 'finish_time, create_time, id',
  name: 'invoice_name, create_time, id, deleted_time',
} as const;
const conditions: Partial<Record<string, string>> = {
  finished: 'finish_time > 0 and ',
  name: `invoice_name <> '' and `,
};

const statements = [
  `alter table invoices add kind text not null default 'invoice', add promo_applied boolean not null default false,
    add taxes jsonb not null default '[]', add seller jsonb, add buyer jsonb, add discount jsonb,
    ${none('text', 'note_reason', 'original_invoice_id', 'refund_id')},
    ${none('bigint', 'counter', 'promo_cap', 'promo_credits', 'promo_rate', 'promo_refunded', 'promo_credited')},
    ${none('bigint', 'partial_credit_paid', 'refunded_amount', 'refunded_to_payments', 'surplus', 'deadline')},
    drop constraint invoices_total,
    add constraint invoices_total check (case kind when 'invoice' then total_amount >= 0 else total_amount <= 0 end),
    add constraint invoices_kind check (kind in ('invoice', 'credit_note')),
    add constraint invoices_credit check
      (partial_credit_paid >= 0 and (partial_credit_paid = 0 or partial_credit_paid <= total_amount)),
    add constraint invoices_refunded check
      (refunded_amount between 0 and greatest(total_amount, 0) and refunded_to_payments >= 0)`,
  `alter table invoice_lines add inputs jsonb, add category text not null default 'Z',
    ${none('text', 'formula', 'source_line_id', 'tax_reason')}, ${none('integer', 'rate_ppm')},
    ${none('bigint', 'credited_net', 'credited_tax', 'refunded_net', 'refunded_tax', 'waived_net', 'waived_tax')},
    add constraint invoice_lines_given_back check (credited_net + refunded_net + waived_net
      between least(amount - tax, 0) and greatest(amount - tax, 0))`,
  `alter table payments ${none('bigint', 'refunded_amount')}, ${none('text', 'dispute')},
    add constraint payments_refunded check (refunded_amount between 0 and payment_amount),
    add constraint payments_dispute check (dispute in ('', 'open', 'won', 'lost'))`,
  `alter table numberings alter last_number set default 0, ${none('bigint', 'last_credit_note')}`,
  ...Object.entries(lists).flatMap(([name, columns]) => [
    `drop index invoices_${name}`,
    `create index invoices_${name} on invoices (merchant_id, ${columns})
      where ${conditions[name] ?? ''}kind = 'invoice'`,
  ]),
  `drop index invoices_number`,
  `create index invoices_number on invoices (merchant_id, number) where number <> ''`,
  `create index credit_notes_newest on invoices (merchant_id, create_time, id) where kind = 'credit_note'`,
  `create index credit_notes_original on invoices (merchant_id, original_invoice_id) where original_invoice_id <> ''`,
  `create table refunds (
    merchant_id bigint not null, refund_id text not null, version integer not null, status text not null,
    type integer not null, invoice_id text not null, credit_note_id text not null, payment_id text not null,
    user_id bigint not null, gateway_id bigint not null, currency text not null, amount bigint not null,
    tax_amount bigint not null, to_payments bigint not null, to_main_credit bigint not null,
    promo_credits bigint not null, external_refund_id text not null, gateway_refund_id text not null,
    country_code text not null, reason text not null, explanation text not null, metadata jsonb not null,
    create_time bigint not null, modify_time bigint not null, refund_time bigint not null,
    constraint refunds_pkey primary key (merchant_id, refund_id),
    constraint refunds_status check (status in ('created', 'success', 'failed', 'cancelled', 'reversed')),
    constraint refunds_amount check
      (amount > 0 and to_payments >= 0 and to_main_credit >= 0 and amount = to_payments + to_main_credit))`,
  `create unique index refunds_external on refunds (merchant_id, external_refund_id) where external_refund_id <> ''`,
  `create unique index refunds_note on refunds (merchant_id, credit_note_id)`,
  `create index refunds_invoice on refunds (merchant_id, invoice_id)`,
  `create index refunds_payment on refunds (merchant_id, payment_id, create_time, refund_id)`,
  `create table payment_surpluses (
    merchant_id bigint not null, payment_id text not null, gateway_payment_id text not null, invoice_id text not null,
    amount bigint not null, create_time bigint not null,
    constraint payment_surpluses_pkey primary key (merchant_id, payment_id, gateway_payment_id),
    constraint payment_surpluses_amount check (amount > 0))`,
  `create index payment_surpluses_invoice on payment_surpluses (merchant_id, invoice_id)`,
  `create table merchant_copies (merchant_id bigint not null, data jsonb not null, version integer not null,
    constraint merchant_copies_pkey primary key (merchant_id))`,
];

/** Facts of the invoices that are there: one rate each, stated in the request, and a counter as their number. */
const filled = [
  `alter table invoices no force row level security`,
  `alter table invoice_lines no force row level security`,
  `update invoice_lines l set rate_ppm = 100 * i.tax_bps, category = case i.tax_bps when 0 then 'Z' else 'S' end,
      tax_reason = 'Rate stated in the request'
    from invoices i where i.merchant_id = l.merchant_id and i.invoice_id = l.invoice_id`,
  `update invoices set counter = case when number ~ '^[0-9]+$' then number::bigint else 0 end,
    deadline = case when finish_time > 0 then finish_time + days_until_due * 86400 + 1200 else 0 end,
    taxes = jsonb_build_array(jsonb_build_object('category', case tax_bps when 0 then 'Z' else 'S' end,
      'ratePpm', 100 * tax_bps, 'net', total_amount_excluding_tax, 'tax', tax_amount, 'jurisdiction', '',
      'source', 'request', 'reason', 'Rate stated in the request'))`,
  `alter table invoices force row level security`,
  `alter table invoice_lines force row level security`,
  `create unique index invoices_counter on invoices (merchant_id, kind, counter) where counter > 0`,
];
