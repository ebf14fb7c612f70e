import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { Invoice } from '../src/billing/invoices/shape.js';
import { emptyOf } from '../src/empty.js';
import { events } from '../src/events.js';
import { User } from '../src/identity/user-shape.js';

describe('emptyOf', () => {
  it('yields every field of a shape, empty', () => {
    const shape = z.object({
      id: z.int(),
      rate: z.number(),
      name: z.string(),
      on: z.boolean(),
      list: z.array(z.int()),
      map: z.record(z.string(), z.int()),
      absent: z.object({ id: z.int() }).nullable(),
      nested: z.object({ id: z.int() }),
    });
    expect(emptyOf(shape)).toEqual({
      id: 0,
      rate: 0,
      name: '',
      on: false,
      list: [],
      map: {},
      absent: null,
      nested: { id: 0 },
    });
  });

  it('is a valid value of each shape that travels, recursive ones too', () => {
    expect(Invoice.parse(emptyOf(Invoice))).toEqual(emptyOf(Invoice));
    for (const [name, { data }] of Object.entries(events)) {
      if (name !== 'operation.logged') expect(data.safeParse(emptyOf(data)).success).toBe(true);
    }
  });

  it('has frozen parts, since every answer shares them', () => {
    const empty = emptyOf(User);
    expect(Object.isFrozen(empty.metadata)).toBe(true);
    expect({ ...empty, email: 'a@b.c' }.email).toBe('a@b.c');
  });

  it('refuses a schema that has no empty value', () => {
    expect(() => emptyOf(z.object({ a: z.string().optional() }))).toThrow('This object has no empty value');
  });
});
