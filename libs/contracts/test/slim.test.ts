import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { InvoiceLine } from '../src/billing/invoices/lines.js';
import { Invoice } from '../src/billing/invoices/shape.js';
import { emptyOf } from '../src/empty.js';
import { events } from '../src/events.js';
import { slimming } from '../src/slim.js';

/** Any value of a shape, in which about half of the fields are empty. */
function anyOf(shape: z.core.$ZodType): fc.Arbitrary<unknown> {
  if (shape instanceof z.ZodOptional) return fc.option(anyOf(shape.unwrap()), { nil: undefined });
  if (shape instanceof z.ZodNullable) return deep(null, () => fc.option(anyOf(shape.unwrap())));
  if (shape instanceof z.ZodObject) {
    const fields = Object.entries(shape.shape as Record<string, z.core.$ZodType>);
    return fc.record(Object.fromEntries(fields.map(([name, field]) => [name, anyOf(field)])));
  }
  if (shape instanceof z.ZodArray) return deep([], () => fc.array(anyOf(shape.element), { maxLength: 2 }));
  if (shape instanceof z.ZodRecord) return fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 2 });
  if (shape instanceof z.ZodEnum) return fc.constantFrom(...shape.options);
  if (shape instanceof z.ZodString) return fc.oneof(fc.constant(''), fc.string());
  if (shape instanceof z.ZodNumber) return fc.oneof(fc.constant(0), fc.integer());
  if (shape instanceof z.ZodBoolean) return fc.boolean();
  return fc.jsonValue();
}

let depth = 0;
/** Bounds the depth of generated values, since shapes are recursive: below it everything is empty. */
function deep(empty: unknown, make: () => fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  if (depth > 1) return fc.constant(empty);
  depth++;
  try {
    return make();
  } finally {
    depth--;
  }
}

describe('slim JSON', () => {
  it('gives back each value of every event, and the whole of it byte for byte', () => {
    for (const { data } of Object.values(events)) {
      const { write, complete } = slimming(data as z.ZodType);
      fc.assert(
        fc.property(anyOf(data as z.ZodType), value => {
          const { whole, slim } = write(value);
          expect(JSON.parse(whole)).toEqual(JSON.parse(JSON.stringify(value)));
          expect(write(complete(JSON.parse(slim))).whole).toBe(whole);
          expect(write(complete(JSON.parse(whole)))).toEqual({ whole, slim });
        }),
        { numRuns: 40 },
      );
    }
  });

  it('is what JSON.stringify makes of a view, and without its empty fields a third of that', () => {
    const line = { ...emptyOf(InvoiceLine), lineId: 'in_1_1', name: 'Seat', amount: 5831, currency: 'EUR' };
    const invoice = { ...emptyOf(Invoice), id: 1, invoiceId: 'in_1', lines: [line, line], metadata: { order: '' } };
    const { whole, slim } = slimming(Invoice).write(invoice);
    expect(whole).toBe(JSON.stringify(invoice));
    expect(slim).toBe(
      '{"id":1,"invoiceId":"in_1","metadata":{"order":""},"lines":[' +
        '{"amount":5831,"currency":"EUR","lineId":"in_1_1","name":"Seat"},'.repeat(2).slice(0, -1) +
        ']}',
    );
    expect(slimming(Invoice).complete(JSON.parse(slim))).toEqual(invoice);
  });

  it('tells what may be null and is empty from null', () => {
    const shape = z.object({ plan: z.object({ id: z.int() }).nullable(), nested: z.object({ id: z.int() }) });
    const { write, complete } = slimming(shape);
    const [absent, present] = [null, { id: 0 }].map(plan => write({ plan, nested: { id: 0 } }).slim);
    expect([absent, present]).toEqual(['{}', '{"plan":{}}']);
    expect(complete(JSON.parse(String(absent)))).toEqual({ plan: null, nested: { id: 0 } });
    expect(complete(JSON.parse(String(present)))).toEqual({ plan: { id: 0 }, nested: { id: 0 } });
  });

  it('is the whole where something has no empty value', () => {
    const shape = z.object({ kind: z.enum(['', 'key']), id: z.string(), list: z.array(z.string()) });
    const { write, complete } = slimming(shape);
    const value = { kind: '' as const, id: '', list: [] };
    expect(write(value)).toEqual({ whole: JSON.stringify(value), slim: JSON.stringify(value) });
    expect(complete(value)).toEqual(value);
  });

  it('writes the fields of its shape in its order, and no others', () => {
    const { whole } = slimming(z.object({ a: z.int(), b: z.int() })).write({ secret: 1, b: 2, a: 1 } as never);
    expect(whole).toBe('{"a":1,"b":2}');
  });
});
