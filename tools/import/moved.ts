import type { Exported } from './folder.js';
import {
  type Amounts,
  isFine,
  isReduced,
  itemsOf,
  nextThere,
  periodOf,
  type Reduction,
  reductionOf,
  type Sold,
} from './next.js';
import type { Customer, Price, Subscription } from './objects.js';

/** A row of an import by column. */
export type Row = Readonly<Record<string, string>>;

/** A plan that is made of a price; `isAddon` where it is sold beside another one. */
export interface PlanOf {
  externalPlanId: string;
  price: Price;
  currency: string;
  isAddon: boolean;
  /** Minor units of one unit. */
  amount: bigint;
}

/** A subscription that goes on here. */
export interface Going {
  sub: Subscription;
  plans: readonly PlanOf[];
  code: string;
  reduction: Reduction | undefined;
  row: Row;
  /** The next invoice there; undefined where the subscription ends. */
  there: Amounts | undefined;
  notes: readonly string[];
}

/** A subscription that is over. */
export interface Over {
  plans: readonly PlanOf[];
  row: Row;
}

export interface Left {
  id: string;
  reason: string;
}

/** A move: users, plans, codes, and subscriptions that go on, that are over, and that stay there. */
export interface Move {
  users: readonly Row[];
  going: readonly Going[];
  over: readonly Over[];
  left: readonly Left[];
}

/** The gateways here of subscriptions that are charged there, and of those whose invoices are sent. */
export interface Gateways {
  charged: string;
  sent: string;
}

/** The course of a move of a folder's objects. */
export function moveOf(all: Exported, gateways: Gateways): Move {
  const [users, refused] = usersOf(all);
  const going: Going[] = [];
  const over: Over[] = [];
  const left: Left[] = [...refused].map(([id, reason]) => ({ id, reason }));
  const sort = <T>({ id }: Subscription, moved: T | string, into: T[]) => {
    if (typeof moved === 'string') left.push({ id, reason: moved });
    else into.push(moved);
  };
  for (const sub of all.subscriptions.values()) {
    const customer = all.customers.get(sub.customer);
    const reason = !customer
      ? `its customer ${sub.customer} is not in the folder`
      : refused.has(customer.id)
        ? `its customer ${customer.id} stays there`
        : staying(sub);
    if (!customer || reason !== undefined) {
      left.push({ id: sub.id, reason: reason ?? '' });
      continue;
    }
    if (sub.status === 'canceled') sort(sub, overOf(sub, all, gateways), over);
    else sort(sub, goingOf(sub, customer, all, gateways), going);
  }
  return { users, going, over, left };
}

/** Rows of the customers, and why some have none: an e-mail is one user here. */
function usersOf({ customers }: Exported): [Row[], Map<string, string>] {
  const byEmail = new Map<string, string>();
  const refused = new Map<string, string>();
  const rows: Row[] = [];
  for (const customer of customers.values()) {
    const email = customer.email?.trim() ?? '';
    const holder = byEmail.get(email.toLowerCase());
    if (customer.deleted) refused.set(customer.id, 'it is deleted');
    else if (email === '') refused.set(customer.id, 'it has no e-mail, by which a user is known here');
    else if (holder) refused.set(customer.id, `it has the e-mail of ${holder}: a user is one here`);
    else {
      byEmail.set(email.toLowerCase(), customer.id);
      rows.push(userRow(customer, email));
    }
  }
  return [rows, refused];
}

function userRow(customer: Customer, email: string): Row {
  const { id, name, phone, address, preferred_locales: locales, tax_ids: taxIds } = customer;
  const words = (name ?? '').trim().split(/\s+/);
  const taxId = taxIds?.data[0]?.value ?? '';
  const lines = [address?.line1, address?.line2].filter(Boolean).join(', ');
  const isBusiness = taxId !== '';
  return {
    Email: email,
    ExternalUserId: id,
    Type: isBusiness ? 'business' : '',
    FirstName: isBusiness ? '' : words.slice(0, -1).join(' '),
    LastName: isBusiness ? '' : (words.at(-1) ?? ''),
    CompanyName: isBusiness ? (name ?? '') : '',
    VATNumber: taxId,
    Phone: phone ?? '',
    Address: lines,
    City: address?.city ?? '',
    State: address?.state ?? '',
    ZipCode: address?.postal_code ?? '',
    CountryCode: address?.country ?? '',
    Language: locales?.[0]?.split('-')[0] ?? '',
  };
}

const stays: Readonly<Record<string, string>> = {
  incomplete: 'its first invoice is open there',
  incomplete_expired: 'its first invoice was not paid there',
  past_due: 'an invoice of it is open there: collect it first, and run this again',
  unpaid: 'invoices of it are open there: collect or close them first, and run this again',
  paused: 'its trial ended without a payment method',
};

function staying(sub: Subscription): string | undefined {
  const reason = stays[sub.status];
  if (reason) return reason;
  if (!['active', 'trialing', 'canceled'].includes(sub.status)) return `its status is ${sub.status}`;
  if (sub.status === 'canceled') return undefined;
  if (sub.pause_collection) return 'its collection is paused: resume or end it there';
  if (sub.schedule) return `the schedule ${sub.schedule} changes it: release it there`;
  if (sub.pending_update) return 'a change of it waits for its payment there';
  if (sub.cancel_at && !endsWithPeriod(sub)) return 'it ends within a period: here it ends with one';
  return undefined;
}

const endsWithPeriod = (sub: Subscription) => sub.cancel_at_period_end || sub.cancel_at === periodOf(sub).end;

function goingOf(sub: Subscription, customer: Customer, all: Exported, gateways: Gateways): Going | string {
  const sold = itemsOf(sub, all);
  if (typeof sold === 'string') return sold;
  const reduction = reductionOf(sub, sold, all);
  if (typeof reduction === 'string') return reduction;
  const named = namesOf(sub, sold);
  if (typeof named === 'string') return named;
  const { start, end } = periodOf(sub);
  const isTrial = sub.status === 'trialing' && sub.trial_end;
  const isEnding = endsWithPeriod(sub);
  if (sub.automatic_tax?.enabled && !isEnding && !all.previews.has(sub.id)) return untold;
  const code = reduction ? codeOf(reduction) : '';
  const notes = [...taxNotes(sold, sub), ...(reduction ? reductionNotes(reduction, sold) : [])];
  const { columns, plans, addons } = named;
  const row = {
    ...soldColumns(sub, gateways),
    ...columns,
    ...methodOf(sub, customer, gateways),
    AddOns: addons,
    CurrentPeriodStart: textOf(start),
    CurrentPeriodEnd: textOf(end),
    BillingCycleAnchor: textOf(isTrial ? end : sub.billing_cycle_anchor),
    DiscountCode: code,
    TrialEnd: isTrial ? textOf(end) : '',
    CancelAtPeriodEnd: isEnding ? 'yes' : '',
    TaxPercentage: taxOf(sold),
    CreateTime: textOf(Math.min(sub.created, start)),
  };
  return {
    sub,
    plans,
    code,
    reduction,
    notes,
    row,
    there: isEnding ? undefined : nextThere(sub, sold, reduction, all),
  };
}

const untold = 'Stripe finds its tax: fetch a preview of its next invoice, by which it is compared';

function reductionNotes({ coupon }: Reduction, sold: readonly Sold[]): string[] {
  const isPartial = sold.some(each => !isReduced(each, { coupon }));
  return [
    ...(isFine(coupon.percent_off ?? 0) ? [] : ['its percentage has more than two decimals']),
    ...(isPartial ? ['its coupon reduces some items, here a code reduces all'] : []),
  ];
}

function overOf(sub: Subscription, all: Exported, gateways: Gateways): Over | string {
  const sold = itemsOf(sub, all);
  if (typeof sold === 'string') return sold;
  const named = namesOf(sub, sold.slice(0, 1));
  if (typeof named === 'string') return named;
  const period = periodOf(sub);
  const end = sub.ended_at ?? period.end;
  const start = Math.min(period.start, end - 1);
  const { plans, columns } = named;
  const times = { CurrentPeriodStart: textOf(start), CurrentPeriodEnd: textOf(end) };
  const row = { ...soldColumns(sub, gateways), ...columns, ...times, CreateTime: textOf(Math.min(sub.created, start)) };
  return { plans, row };
}

const soldColumns = (sub: Subscription, { charged, sent }: Gateways): Row => ({
  ExternalSubscriptionId: sub.id,
  ExternalUserId: sub.customer,
  Currency: sub.currency.toUpperCase(),
  Gateway: sub.collection_method === 'send_invoice' ? sent : charged,
  Metadata: Object.keys(sub.metadata ?? {}).length > 0 ? JSON.stringify(sub.metadata) : '',
});

/** The plan of the first item, and the others as its add-ons: their plans, and the columns that name them. */
function namesOf(sub: Subscription, sold: readonly Sold[]): { plans: PlanOf[]; columns: Row; addons: string } | string {
  const [main, ...others] = sold;
  if (!main) return 'it has no items';
  const every = intervalOf(main.price);
  const odd = others.find(({ price }) => intervalOf(price) !== every);
  if (odd) return `its prices ${main.price.id} and ${odd.price.id} have different intervals`;
  const planOf = ({ price, amount, units }: Sold, isAddon: boolean): PlanOf => {
    const own = price.currency === sub.currency ? price.id : `${price.id}:${sub.currency}`;
    return {
      externalPlanId: isAddon ? `${own}:addon` : own,
      price,
      currency: sub.currency,
      isAddon,
      amount: amount / BigInt(units),
    };
  };
  const addons = others.map(each => ({ ...each, plan: planOf(each, true) }));
  const asked = addons.map(({ plan, units }) => ({ externalPlanId: plan.externalPlanId, quantity: units }));
  const plan = planOf(main, false);
  return {
    plans: [plan, ...addons.map(each => each.plan)],
    columns: { ExternalPlanId: plan.externalPlanId, Quantity: String(main.units) },
    addons: asked.length > 0 ? JSON.stringify(asked) : '',
  };
}

const intervalOf = ({ recurring }: Price) => `${recurring?.interval_count} ${recurring?.interval}`;

function methodOf(sub: Subscription, customer: Customer, { charged, sent }: Gateways): Row {
  if (sub.collection_method === 'send_invoice' || charged === sent) return {};
  const method =
    sub.default_payment_method ??
    sub.default_source ??
    customer.invoice_settings?.default_payment_method ??
    customer.default_source;
  return method ? { GatewayUserId: customer.id, GatewayPaymentMethod: method } : {};
}

/** The one rate that all items have, which is added to the price; blank where the rules here decide. */
function taxOf(sold: readonly Sold[]): string {
  const rates = sold.map(({ rates: [rate, ...more] }) =>
    rate && more.length === 0 && !rate.inclusive ? rate.percentage : -1,
  );
  const [first = -1] = rates;
  return first > 0 && isFine(first) && rates.every(rate => rate === first) ? String(first) : '';
}

function taxNotes(sold: readonly Sold[], sub: Subscription): string[] {
  if (sub.automatic_tax?.enabled) return ['Stripe finds its tax, here the rules of taxes do'];
  const rates = sold.flatMap(each => each.rates);
  if (rates.some(({ inclusive }) => inclusive)) return ['its prices there include tax, plans have none in them'];
  return rates.length > 0 && taxOf(sold) === ''
    ? ['its items have several tax rates, or one with more than two decimals']
    : [];
}

/** A code for each number of invoices that a coupon goes on to reduce. */
export const codeOf = ({ coupon, cycles }: Reduction): string => (cycles === 0 ? coupon.id : `${coupon.id}-${cycles}`);

const textOf = (seconds: number): string => new Date(seconds * 1_000).toISOString().slice(0, 19).replace('T', ' ');
