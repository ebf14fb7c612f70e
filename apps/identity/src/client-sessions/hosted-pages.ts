import { Controller, Inject } from '@nestjs/common';
import {
  customerPortalUrl,
  type In,
  planStatus,
  planType,
  subscriptionStatus,
  subscriptionUpdateUrl,
} from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, CLOCK, type Clock, CONFIG, Db, Handle, type Tx } from '@recur/platform';
import type { Config } from '../config.js';
import { plans, products, type SubscriptionCopy, subscriptions } from '../copies/tables.js';
import { emailKey } from '../domain/email.js';
import { type User, users } from '../users/tables.js';
import { openSession, type Purpose } from './client-sessions.js';
import { refuseInactive } from './new-session.js';

const { active, incomplete, pending, processing } = subscriptionStatus;
/** Tail of the query for the newest live subscription. */
const newestLive = `and status in (${[active, incomplete, pending, processing].join(', ')})
  order by create_time desc, id desc limit 1`;

type PageRequest = In<typeof subscriptionUpdateUrl>;

/** URLs of the hosted pages, each with a session of its own. They carry no personal data: the session has the user. */
@Controller()
export class HostedPages {
  constructor(
    private readonly db: Db,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Handle(subscriptionUpdateUrl)
  subscriptionUpdate(asked: In<typeof subscriptionUpdateUrl>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const user = await activeUser(tx, asked);
      await refuseUnfitPlan(tx, asked);
      const { id: subscriptionId } = await liveSubscription(tx, user.id, asked.productId);
      tx.log(`User(${user.id})`, 'SubscriptionUpdateUrl', { userId: user.id, subscriptionId, ...planOf(asked) });
      return { url: `${this.pages(tx, user, asked, subscriptionId)}/subscription` };
    });
  }

  @Handle(customerPortalUrl)
  customerPortal(asked: In<typeof customerPortalUrl>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const user = await activeUser(tx, asked);
      await refuseUnknownProduct(tx, asked.productId);
      await refuseUnfitPlan(tx, asked);
      tx.log(`User(${user.id})`, 'CustomerPortalUrl', { userId: user.id, ...planOf(asked) });
      return { url: this.pages(tx, user, asked) };
    });
  }

  /** Opens a session and returns the URL of its pages. */
  private pages(tx: Tx, { id: userId }: User, asked: PageRequest, subscriptionId = ''): string {
    const { productId, planId = 0, vatCountryCode = '', returnUrl = '', cancelUrl = '' } = asked;
    const purpose: Purpose = { userId, productId, planId, subscriptionId, vatCountryCode, returnUrl, cancelUrl };
    const { clientSession } = openSession(tx, Math.floor(this.clock.wall() / 1000), purpose);
    return `${this.config.PORTAL_BASE}/session/${clientSession}`;
  }
}

const planOf = ({ planId }: PageRequest) => (planId ? { planId } : {});

/** The active user with this userId, else the one with the externalUserId and e-mail that are given. */
async function activeUser(tx: Tx, { userId, externalUserId, email }: PageRequest): Promise<User> {
  const named = { ...(externalUserId && { externalUserId }), ...(email && { emailKey: emailKey(email) }) };
  const user = await tx.get(users, userId ? { id: userId } : named, 'user_not_found');
  refuseInactive(user);
  return user;
}

async function liveSubscription(tx: Tx, userId: number, productId: number): Promise<SubscriptionCopy> {
  const [newest] = await tx.all(subscriptions, { userId, productId }, newestLive);
  if (newest) return newest;
  throw tx.stale('subscriptions', { userId: String(userId) }, new Rejected('subscription_not_found'));
}

/** Refuses an unknown product. Product 0 is the default product, which every merchant has. */
async function refuseUnknownProduct(tx: Tx, productId: number): Promise<void> {
  if (productId === 0) return;
  tx.fresh('products', productId);
  const product = await tx.find(products, { id: productId });
  if (!product || product.deleted) throw tx.stale('products', productId, new Rejected('product_not_found'));
}

/** Refuses a plan that is not an active main plan of the product. Plan 0 is none. */
async function refuseUnfitPlan(tx: Tx, { planId = 0, productId }: PageRequest): Promise<void> {
  if (planId === 0) return;
  tx.fresh('plans', planId);
  const plan = await tx.find(plans, { id: planId });
  if (!plan) throw tx.stale('plans', planId, new Rejected('plan_not_found'));
  if (plan.type !== planType.main || plan.productId !== productId) {
    throw tx.stale('plans', planId, invalid('/planId', `planId must be a main plan of product ${productId}`));
  }
  if (plan.status !== planStatus.active) {
    const message = `Plan ${planId} is ${stateOf(plan.status)}: cannot offer it`;
    throw tx.stale('plans', planId, new Rejected('plan_not_active', message));
  }
}

const stateOf = (status: number) => Object.entries(planStatus).find(([, code]) => code === status)?.[0];
