import { Controller } from '@nestjs/common';
import {
  createFrom,
  type In,
  invoiceStatus,
  listOnetimeAddons,
  newOnetimeAddonPayment,
  type Plan,
  planType,
} from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import { assertSellable, plansById } from '../../customers/catalog.js';
import { sellerCountry } from '../../customers/merchants.js';
import { assertActive, findUser } from '../../customers/users.js';
import { chooseGateway } from '../../gateways/domain/gateway.js';
import { allGateways } from '../../gateways/gateway-index.js';
import type { InvoiceDiscount, InvoiceInput } from '../../invoices/domain/items.js';
import { type CalculatedInvoice, calculateInvoice } from '../../invoices/issuing/calculate.js';
import { InvoiceIssuer, type IssuedInvoice } from '../../invoices/issuing/issue.js';
import { commonInput } from '../domain/invoice-input.js';
import { priceIn } from '../domain/items.js';
import type { Subscription } from '../domain/subscription.js';
import { lockNamed } from '../find.js';
import { type OnetimeAddon, onetimeAddonAggregate, onetimeAddons, onetimeAddonView } from './tables.js';

type Input = In<typeof newOnetimeAddonPayment>;

/** Sells one-time add-ons on an invoice of their own, whose end is theirs. */
@Controller()
export class OnetimeAddons {
  constructor(
    private readonly db: Db,
    private readonly issuer: InvoiceIssuer,
  ) {}

  @Handle(newOnetimeAddonPayment)
  sell(input: Input, caller: Caller) {
    return this.db.write(caller, async tx => {
      const sub = await lockNamed(tx, input);
      assertInUse(sub);
      const discount = onetimeDiscount(input);
      const [addon, all, sellerCountryCode, user] = await Promise.all([
        addonOf(tx, sub, input.addonId),
        allGateways(tx),
        sellerCountry(tx),
        findUser(tx, { userId: sub.userId }),
      ]);
      assertActive(tx, user);
      const gateway = chooseGateway(all, input.gatewayId, sub.gatewayId);
      const taxPercentage = caller.actor.kind === 'key' ? input.taxPercentage : 0;
      const order = { addon, quantity: input.quantity, taxPercentage, ...(discount && { discount }) };
      const calculated = await calculateInvoice(tx, onetimeInput(sub, order, tx.now), { sellerCountryCode, gateway });
      const made = await this.issuer.issue(tx, calculated, {
        status: 'open',
        createFrom: createFrom.api,
        details: { checkout: { ...noCheckout, returnUrl: input.returnUrl, metadata: input.metadata } },
      });
      const subscriptionOnetimeAddon = await saveAddon(tx, sub, calculated, made, input);
      const { view: invoice } = made;
      const paid = invoice.status === invoiceStatus.paid;
      return { link: invoice.link, paid, invoice, subscriptionOnetimeAddon };
    });
  }

  @Handle(listOnetimeAddons)
  list({ userId, page, count }: In<typeof listOnetimeAddons>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const where = [['user_id = ?', userId]] as const;
      const order = 'create_time desc, id desc';
      const { rows, total } = await reader.page({ from: onetimeAddons, where, order, page, count });
      return { subscriptionOnetimeAddons: rows.map(onetimeAddonView), total };
    });
  }
}

const noCheckout = { gatewayPaymentType: '', paymentUIMode: '', gasPayer: '', cancelUrl: '' } as const;

function assertInUse({ subscriptionId, status }: Subscription): void {
  if (status === 'active' || status === 'incomplete') return;
  const message = `Subscription ${subscriptionId} is ${status}: one-time add-ons are sold to active and incomplete ones`;
  throw new Rejected('subscription_wrong_state', message);
}

/** The add-on of a request. It must be bound to the plan of the subscription; a binding may be new, so catalog is asked. */
async function addonOf(tx: Tx, { planId }: Subscription, addonId: number): Promise<Plan> {
  const copies = await plansById(tx, [addonId, planId]);
  const addon = assertSellable(tx, addonId, copies, '/addonId');
  if (addon.type !== planType.onetimeAddon) throw invalid('/addonId', 'names a plan that is no one-time add-on');
  const bound = copies.get(planId)?.data.bindingOnetimeAddonIds.split(',').map(Number);
  if (bound?.includes(addonId)) return addon;
  throw tx.stale('plans', planId, invalid('/addonId', `names an add-on that is not bound to plan ${planId}`));
}

async function saveAddon(
  tx: Tx,
  sub: Subscription,
  calculated: CalculatedInvoice,
  made: IssuedInvoice,
  { metadata }: Input,
) {
  const [item] = calculated.input.items;
  if (!item?.plan) throw new Error(`the bill of a one-time add-on of ${sub.subscriptionId} has no add-on`);
  const { planId: addonId, plan, quantity, unitAmount, name, description } = item;
  const { merchantId, now } = tx;
  const { invoiceId, status } = made.view;
  const addon: OnetimeAddon = {
    merchantId,
    id: await tx.nextId(onetimeAddons),
    addonKey: tx.newId('addon_'),
    version: 0,
    status: 'created',
    subscriptionId: sub.subscriptionId,
    userId: sub.userId,
    currency: sub.currency,
    addonId,
    plan,
    quantity,
    unitAmount,
    amount: unitAmount * BigInt(quantity),
    name,
    description,
    invoiceId,
    paymentId: made.payment?.paymentId ?? '',
    metadata,
    createTime: now,
    modifyTime: now,
  };
  const created = tx.step(onetimeAddonAggregate, addon, 'subscription.onetime_addon.created', { log: 'New' }).view;
  if (status !== invoiceStatus.paid) return created;
  return tx.step(onetimeAddonAggregate, { ...addon, status: 'paid' }, 'subscription.onetime_addon.success').view;
}

/** Takes the add-on of an invoice to its end; none where it is being made, or the invoice sells something else. */
export async function settleAddon(
  tx: Tx,
  { invoiceId }: { invoiceId: string },
  status: 'paid' | 'cancelled' | 'expired',
): Promise<void> {
  const addon = await tx.part(onetimeAddons, { invoiceId });
  if (!addon) return;
  const event = status === 'paid' ? 'success' : status;
  const ended = { ...addon, status, modifyTime: tx.now };
  tx.step(onetimeAddonAggregate, ended, `subscription.onetime_addon.${event}`);
}

/** A one-time add-on as a request orders it. */
export interface OnetimeOrder {
  addon: Plan;
  quantity: number;
  /** 0 for that of the subscription. */
  taxPercentage: number;
  discount?: Extract<InvoiceDiscount, { is: 'terms' }>;
}

/** The invoice of a one-time add-on, at its price of now. Throws what `priceIn` does. */
function onetimeInput(sub: Subscription, order: OnetimeOrder, moment: number): InvoiceInput {
  const { addon, quantity, discount } = order;
  const { id: planId, planName: name, description } = addon;
  const item = { kind: 'onetimeAddon', planId, plan: addon, name, description, quantity, period: null } as const;
  return {
    ...commonInput(sub, moment),
    ...(order.taxPercentage > 0 && { taxPercentage: order.taxPercentage }),
    reason: 'onetime',
    name: 'OneTimeAddonPurchase',
    promo: { apply: false, cap: 0 },
    period: { kind: '', start: sub.currentPeriodStart, end: sub.currentPeriodEnd },
    items: [{ ...item, key: `onetime:${planId}`, unitAmount: priceIn(addon, sub.currency, addon.amount) }],
    ...(discount && { discount }),
  };
}

interface DiscountInput {
  discountCode: string;
  discountAmount: number;
  discountPercentage: number;
}

/** The discount of a request. Throws Rejected `invalid_parameters`, for a code too: codes cover no one-time add-ons. */
function onetimeDiscount({
  discountCode,
  discountAmount,
  discountPercentage,
}: DiscountInput): OnetimeOrder['discount'] {
  if (discountCode !== '') throw invalid('/discountCode', 'covers plans, recurring add-ons and usage only');
  if (discountAmount > 0 && discountPercentage > 0) {
    throw invalid('/discountPercentage', 'cannot be combined with discountAmount');
  }
  if (discountAmount > 0) return { is: 'terms', code: '', terms: { kind: 'fixed', amount: BigInt(discountAmount) } };
  if (discountPercentage === 0) return undefined;
  return { is: 'terms', code: '', terms: { kind: 'percentage', percentage: discountPercentage } };
}
