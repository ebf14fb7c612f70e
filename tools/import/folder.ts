import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { z } from 'zod';
import { Failure } from '../local/failure.js';
import * as stripe from './objects.js';

/** The objects of a folder by their ids. */
export interface Exported {
  customers: ReadonlyMap<string, stripe.Customer>;
  products: ReadonlyMap<string, stripe.Product>;
  prices: ReadonlyMap<string, stripe.Price>;
  coupons: ReadonlyMap<string, stripe.Coupon>;
  discounts: ReadonlyMap<string, stripe.Discount>;
  subscriptions: ReadonlyMap<string, stripe.Subscription>;
  /** Previews of next invoices, by their subscriptions. */
  previews: ReadonlyMap<string, stripe.Preview>;
  /** How many objects were of kinds that are not moved, by kind. */
  others: ReadonlyMap<string, number>;
}

interface Found {
  file: string;
  value: Record<string, unknown>;
}

/**
 * Reads every .json and .jsonl file of a folder: answers of Stripe's API (lists, single objects), lists of objects, or an
 * object per line. Objects are known by their `object`, wherever they stand, expanded ones too. @throws Failure that names
 * file and field.
 */
export function readFolder(folder: string): Exported {
  const files = namesIn(folder);
  const found = new Map<string, Map<string, Found>>();
  for (const name of files) {
    for (const value of valuesIn(path.join(folder, name))) collect(value, name, found);
  }
  const all = <S extends z.ZodType<{ id: string }>>(kind: string, schema: S) =>
    new Map([...(found.get(kind) ?? [])].map(([id, each]) => [id, parsed(schema, kind, each)]));
  const known = ['customer', 'product', 'price', 'coupon', 'discount', 'subscription', 'invoice'];
  const quiet = ['list', 'plan', 'subscription_item', 'tax_rate', 'card', 'payment_method', 'tax_id', ...known];
  return {
    customers: all('customer', stripe.customer),
    products: all('product', stripe.product),
    prices: all('price', stripe.price),
    coupons: all('coupon', stripe.coupon),
    discounts: all('discount', stripe.discountObject),
    subscriptions: all('subscription', stripe.subscription),
    previews: previewsIn(found.get('invoice')),
    others: new Map([...found].filter(([kind]) => !quiet.includes(kind)).map(([kind, { size }]) => [kind, size])),
  };
}

function namesIn(folder: string): string[] {
  let names: string[];
  try {
    names = readdirSync(folder).filter(name => /\.jsonl?$/.test(name));
  } catch {
    throw new Failure(`${folder} is no folder that can be read.`, 64);
  }
  if (names.length === 0) throw new Failure(`${folder} has no .json or .jsonl file.`, 64);
  return names.sort();
}

function valuesIn(file: string): unknown[] {
  const text = readFileSync(file, 'utf8');
  const lines = file.endsWith('.jsonl') ? text.split('\n').filter(line => line.trim() !== '') : [text];
  return lines.map((line, at) => {
    try {
      return JSON.parse(line) as unknown;
    } catch (error) {
      throw new Failure(
        `${file}${lines.length > 1 ? `, line ${at + 1},` : ''} is no JSON: ${(error as Error).message}`,
      );
    }
  });
}

/** Files every object that has an `object` by it and its id; the one with more fields where one is there twice. */
function collect(value: unknown, file: string, found: Map<string, Map<string, Found>>): void {
  if (typeof value !== 'object' || value === null) return;
  const { object, id, ...rest } = value as Record<string, unknown>;
  for (const inner of Object.values(rest)) collect(inner, file, found);
  if (typeof object !== 'string') return;
  const ofKind = found.get(object) ?? new Map<string, Found>();
  found.set(object, ofKind);
  // a preview of an invoice may have no id
  const key = typeof id === 'string' ? id : `${file} ${ofKind.size}`;
  const before = ofKind.get(key);
  if (before === undefined || Object.keys(before.value).length <= Object.keys(value).length) {
    ofKind.set(key, { file, value: value as Record<string, unknown> });
  }
}

function parsed<S extends z.ZodType>(schema: S, kind: string, { file, value }: Found): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const field = issue?.path.join('.') ?? '';
  throw new Failure(`${file}: ${kind} ${String(value.id)} is not as Stripe sends it: ${field}: ${issue?.message}`);
}

/** Invoices that were not made yet: they have no id, or one that says so. */
function previewsIn(invoices: ReadonlyMap<string, Found> = new Map()): Map<string, stripe.Preview> {
  const previews = new Map<string, stripe.Preview>();
  for (const found of invoices.values()) {
    const { id } = found.value;
    if (typeof id === 'string' && !id.startsWith('upcoming_')) continue;
    const each = parsed(stripe.preview, 'invoice', found);
    const of = each.subscription ?? each.parent?.subscription_details?.subscription;
    if (of) previews.set(of, each);
  }
  return previews;
}
