import { expect } from '@jest/globals';
import { orThrow } from '@recur/client';
import type { Invoice, Subscription } from '@recur/contracts';
import { assertExplained, promised } from './documents.js';
import type { Change, Seller } from './seller.js';

export const DAY = 86_400;
export const HOUR = 3_600;

/** The course of an example: yields the times at which it goes on, and returns what it saw. */
export type Course<T = unknown> = AsyncGenerator<number, T, void>;

export interface Example {
  rule: string;
  title: string;
  live(seller: Seller): Course;
  sees: unknown;
}

/** Examples that share the clock of one merchant, from a time on. */
export interface TimeLine {
  from: number;
  examples: readonly Example[];
}

/** Lives through the examples side by side. Returns what each saw, or what it threw, by its title. */
export async function live(seller: Seller, { from, examples }: TimeLine): Promise<Map<string, Promise<unknown>>> {
  const seen = new Map<string, Promise<unknown>>();
  let courses = examples.map(({ title, live }) => ({ title, wakes: from, course: live(seller) }));
  while (courses.length > 0) {
    const now = Math.min(...courses.map(({ wakes }) => wakes));
    await seller.to(now);
    const due = courses.filter(({ wakes }) => wakes <= now);
    const steps = await Promise.allSettled(due.map(({ course }) => course.next()));
    for (const [at, step] of steps.entries()) {
      const each = due[at] as (typeof due)[number];
      if (step.status === 'fulfilled' && !step.value.done) {
        each.wakes = step.value.value;
        continue;
      }
      courses = courses.filter(other => other !== each);
      const outcome = step.status === 'fulfilled' ? Promise.resolve(step.value.value) : Promise.reject(step.reason);
      outcome.catch(() => undefined);
      seen.set(each.title, outcome);
    }
  }
  return seen;
}

/** Seconds after which the outcome of a charge is known. */
export const SETTLED = 600;

/** Seconds after the end of a period within which its usage may still come: part of the hour for which an invoice waits. */
export const GRACE = 2_400;

/** Subscribes, and goes on when the first invoice is charged. */
export async function* subscribed(seller: Seller, terms: Parameters<Seller['subscribe']>[0]): Course<Subscription> {
  const { subscriptionId, createTime } = await seller.subscribe(terms);
  yield createTime + SETTLED;
  return seller.subscription(subscriptionId);
}

/** Changes a subscription at a moment exactly as it is previewed there. Returns the invoice of the change, as explained. */
export async function* changed(seller: Seller, subscription: Subscription, at: number, to: Change): Course<Invoice> {
  yield at;
  const { subscriptionId, planId, quantity } = subscription;
  const change = { subscriptionId, newPlanId: planId, quantity, prorationDate: at, ...to };
  const { api } = seller;
  const preview = orThrow(await api.post('/merchant/subscription/update_preview', change));
  const submit = { ...change, confirmTotalAmount: preview.totalAmount };
  const { invoiceId } = orThrow(await api.post('/merchant/subscription/update_submit', submit));
  yield at + SETTLED;
  const invoice = await seller.document(invoiceId);
  expect(promised(invoice)).toEqual(promised(preview.invoice));
  await assertExplained(seller, invoice);
  return invoice;
}

/**
 * The invoice that bills the usage of a period that ends within the first minute of a day: exactly as it is previewed while
 * it waits for late usage, and explained.
 */
export async function* renewed(seller: Seller, subscription: Subscription, day: number): Course<Invoice> {
  yield day + GRACE;
  const preview = await seller.preview(subscription.subscriptionId);
  yield day + 2 * HOUR;
  const invoice = await seller.lastDocument(subscription.userId);
  expect(promised(invoice)).toEqual(promised(preview));
  await assertExplained(seller, invoice);
  return invoice;
}

export const isLeap = (year: number): boolean => new Date(Date.UTC(year, 1, 29)).getUTCMonth() === 1;

/** The next year that is not a leap year and whose last Sunday of March is not the last day: dates in it are as in 2026. */
export const year = (() => {
  const isLike2026 = (year: number) => !isLeap(year) && new Date(Date.UTC(year, 2, 31)).getUTCDay() !== 0;
  let year = new Date().getUTCFullYear() + 1;
  while (!isLike2026(year)) year++;
  return year;
})();

/** Unix second of a UTC date of that year, as `03-31` or `03-31T12`. */
export const on = (date: string): number =>
  Date.parse(`${year}-${date}${date.includes('T') ? ':00:00Z' : 'T00:00:00Z'}`) / 1000;
