import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { setupWireTransfer } from '../src/billing/gateways.js';
import { newInvoice } from '../src/billing/invoices/invoices.js';
import { activatePlan, newPlan } from '../src/catalog/plans.js';
import { newProduct } from '../src/catalog/products.js';
import { adminNoteList } from '../src/identity/admin-notes.js';
import { newUser, updateUser } from '../src/identity/users.js';
import {
  anyObject,
  Currency,
  distinct,
  httpUrl,
  limits,
  line,
  list,
  optionalUrl,
  q,
  rate,
  returnFields,
  returnUrl,
} from '../src/input.js';
import { newEndpoint, updateEndpoint } from '../src/notification/endpoints.js';
import { operations } from '../src/operations.js';
import { spelled, validate } from '../src/validate.js';

const issuesOf = (schema: z.ZodType, input: unknown) => {
  const result = validate(schema, input);
  return result.ok ? [] : result.issues.map(({ path, message }) => `${path}: ${message}`);
};
const parse = <S extends z.ZodType>(schema: S, input: unknown) => {
  const result = validate(schema, input);
  if (!result.ok) throw new Error(JSON.stringify(result.issues));
  return result.value;
};

describe('validate', () => {
  it('tells of a list where a text belongs no more than that', () => {
    const schema = z.object({ secret: z.string().min(4).max(8) });
    for (const secret of [[], Array(9).fill('x')]) {
      expect(issuesOf(schema, { secret })).toEqual(['/secret: secret must be a text']);
    }
  });

  const line = { unitAmountExcludingTax: 1999, quantity: 3, name: 'Seat' };
  const invoice = { userId: 1, currency: 'eur', taxPercentage: 825, lines: [line] };

  it('answers the parsed value, without what the schema does not know', () => {
    const value = parse(newInvoice.input, { ...invoice, isAdmin: true });
    expect(value).not.toHaveProperty('isAdmin');
    expect(value).toMatchObject({ currency: 'EUR', finish: false, lines: [{ ...line, planId: 0, description: '' }] });
  });

  it('answers all that is wrong at once, each with a pointer and a sentence', () => {
    const lines = [line, { ...line, quantity: 0 }, { quantity: 1.5 }];
    expect(issuesOf(newInvoice.input, { currency: 'XXX', taxPercentage: '825', finish: 1, lines })).toEqual([
      '/currency: currency must be the code of an active ISO 4217 currency, such as USD',
      '/taxPercentage: taxPercentage must be an integer',
      '/userId: userId is required',
      '/finish: finish must be true or false',
      '/lines/1/quantity: lines[1].quantity must be at least 1',
      '/lines/2/quantity: lines[2].quantity must be an integer',
    ]);
  });

  it('asks a line for its price, unless a plan has one', () => {
    expect(issuesOf(newInvoice.input, { ...invoice, lines: [{ planId: 7 }] })).toEqual([]);
    expect(issuesOf(newInvoice.input, { ...invoice, lines: [{ quantity: 1 }] })).toEqual([
      '/lines/0/unitAmountExcludingTax: lines[0].unitAmountExcludingTax is required if the line has no planId',
    ]);
  });

  it('names the whole input where no field is to blame', () => {
    expect(issuesOf(newInvoice.input, [])).toEqual([': The input must be an object']);
    expect(issuesOf(activatePlan.input, {})).toEqual([
      ': The input must identify the plan by planId or externalPlanId',
    ]);
  });

  it('never repeats what was sent', () => {
    const secret = 'canary-7f3a';
    const input = { email: secret, password: { secret }, userId: secret, currency: secret, lines: secret };
    for (const op of operations) expect(JSON.stringify(issuesOf(op.input, input))).not.toContain(secret);
  });

  it('parses an input with many mistakes once, and still says what each is', () => {
    let parsed = 0;
    const counted = z.int().refine(() => ++parsed > 0);
    const schema = z.object({ first: counted, rest: z.array(z.object({ name: z.string(), size: z.int().max(5) })) });
    const few = { first: 1, rest: Array(30).fill({ size: 9 }) };
    expect(issuesOf(schema, few)).toHaveLength(60);
    expect(parsed).toBe(2);
    parsed = 0;
    const many = issuesOf(schema, { first: 1, rest: Array(100).fill({ size: 1.5 }) });
    expect(parsed).toBe(1);
    expect(many.slice(0, 3)).toEqual([
      '/rest/0/name: rest[0].name is required',
      '/rest/0/size: rest[0].size must be an integer',
      '/rest/1/name: rest[1].name is required',
    ]);
  });

  it('bounds the issues of a hostile input, and escapes their pointers', () => {
    expect(issuesOf(newInvoice.input, { ...invoice, lines: Array(5000).fill(1) })).toHaveLength(1);
    expect(issuesOf(z.array(z.int()), Array(5000).fill('x'))).toHaveLength(500);
    expect(issuesOf(z.record(z.string(), z.int()), { 'a/b~c': 'x' })).toEqual(['/a~1b~0c: a/b~c must be an integer']);
  });
});

describe('inputs', () => {
  it('take a bank as an object or as its JSON text', () => {
    const bank = { accountHolder: 'Acme', address: '1 Main St' };
    const setup = { currency: 'USD', minimumAmount: 100 };
    for (const sent of [bank, JSON.stringify(bank)]) {
      expect(parse(setupWireTransfer.input, { ...setup, bank: sent }).bank).toMatchObject({ ...bank, iban: '' });
    }
    expect(issuesOf(setupWireTransfer.input, { ...setup, bank: { accountHolder: 'Acme' } })).toEqual([
      '/bank/address: bank.address is required',
    ]);
    expect(issuesOf(setupWireTransfer.input, { ...setup, bank: '{"address":"x","accountHolder":" "}' })).toEqual([
      '/bank/accountHolder: bank.accountHolder may not be blank',
    ]);
    for (const wrong of ['{', 'null', '[1]', '"text"', 7]) {
      expect(issuesOf(setupWireTransfer.input, { ...setup, bank: wrong })).toEqual([
        '/bank: bank must be an object or its JSON text',
      ]);
    }
  });

  it('flatten icons', () => {
    const [a, b, c] = ['https://a.example/1.svg', 'http://b.example', 'https://c.example'];
    const gatewayIcons = [a, [b, c]];
    expect(parse(setupWireTransfer.input, { currency: 'USD', minimumAmount: 0, gatewayIcons })).toMatchObject({
      gatewayIcons: [a, b, c],
      displayName: 'Wire Transfer',
      sort: 10,
    });
    expect(issuesOf(setupWireTransfer.input, { currency: 'USD', minimumAmount: 0, gatewayIcons: [5] })).toEqual([
      '/gatewayIcons/0: gatewayIcons[0] must be a text or a list of texts',
    ]);
  });

  it('know the intervals', () => {
    const plan = { amount: 1000, currency: 'USD', planName: 'Pro' };
    expect(issuesOf(newPlan.input, { ...plan, intervalUnit: 'day', intervalCount: 365 })).toEqual([]);
    expect(issuesOf(newPlan.input, { ...plan, intervalUnit: 'year', intervalCount: 2 })).toEqual([
      '/intervalCount: intervalCount must be at most 365 for the unit day, 52 for the unit week, 12 for the unit month, 1 for the unit year',
    ]);
    expect(issuesOf(newPlan.input, { ...plan, intervalUnit: 'fortnight' })).toEqual([
      '/intervalUnit: intervalUnit must be one of "", "day", "week", "month", "year"',
    ]);
  });

  it('refuse an unknown event, and leave absent apart from empty', () => {
    const url = 'https://example.com/hook';
    expect(issuesOf(newEndpoint.input, { url, events: ['invoice.paid', 'invoice.payed'] })).toEqual([
      '/events/1: events[1] must be an event name of webhook/event_list and is not one of them: "invoice.payed"',
    ]);
    expect(issuesOf(newEndpoint.input, { url: 'ftp://example.com' })).toEqual([
      '/url: url must be an http or https URL',
    ]);
    expect(parse(updateEndpoint.input, { endpointId: 1, url, events: [], productIds: null })).toEqual({
      endpointId: 1,
      url,
      events: [],
    });
  });

  it('refuse a text that the database cannot keep, in every field of every operation', () => {
    for (const { name, input, ndjson } of operations) {
      const fields = Object.entries(z.toJSONSchema(input, { io: 'input' }).properties ?? {});
      // of NDJSON each line is checked by itself
      const texts = fields.filter(
        ([field, of]) => typeof of === 'object' && of.type === 'string' && !of.enum && field !== ndjson,
      );
      for (const [field] of texts) {
        for (const bad of ['a\0b', '\ud800', 'x'.repeat(limits.prose + 1)]) {
          const issues = issuesOf(input, { [field]: bad }).filter(issue => issue.startsWith(`/${field}:`));
          expect([name, field, issues.length > 0]).toEqual([name, field, true]);
        }
      }
    }
    expect(issuesOf(line, 'é 漢 😀\n')).toEqual([]);
    expect(issuesOf(anyObject, { a: [{ b: 'x\0' }] })).toHaveLength(1);
    expect(issuesOf(anyObject, JSON.parse(`{"a":${'['.repeat(40)}${']'.repeat(40)}}`))).toHaveLength(1);
    expect(issuesOf(anyObject, { a: { b: [1, null, 'x'] } })).toEqual([]);
    const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]));
    expect(issuesOf(anyObject, members(limits.objectMembers))).toEqual([]);
    expect(issuesOf(anyObject, members(limits.objectMembers + 1))).toHaveLength(1);
    expect(issuesOf(anyObject, { a: members(limits.objectMembers) })).toEqual([]);
    expect(issuesOf(anyObject, { a: members(limits.objectMembers + 1) })).toHaveLength(1);
    expect(issuesOf(anyObject, { a: Array(limits.objectTotal - 1).fill(0) })).toEqual([]);
    expect(issuesOf(anyObject, { a: Array(limits.objectTotal).fill(0) })).toHaveLength(1);
    expect(issuesOf(anyObject, { a: members(150), b: [Array(900).fill(0)] })).toHaveLength(1);
  });

  it('count the members of free-form objects before they look at them, and name the field and the rule', () => {
    const rule = /^\/metadata: metadata must be an object of .* with at most 200 members, 1000 at all depths$/;
    const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]));
    const looked: string[] = [];
    const metadata = new Proxy(members(201), {
      get: (of, name) => {
        looked.push(String(name));
        return Reflect.get(of, name);
      },
    });
    expect(issuesOf(updateUser.input, { userId: 1, metadata })).toEqual([expect.stringMatching(rule)]);
    expect(looked).toEqual([]);
    const text = JSON.stringify(members(201));
    expect(issuesOf(updateUser.input, { userId: 1, metadata: text })).toEqual([expect.stringMatching(rule)]);
    // too many to be parsed at all: the text is no JSON, which only a parser would see
    const broken = `{"a":[${'0,'.repeat(limits.objectTotal)}`;
    expect(issuesOf(updateUser.input, { userId: 1, metadata: broken })).toEqual([expect.stringMatching(rule)]);
    expect(issuesOf(updateUser.input, { userId: 1, metadata: JSON.stringify(members(200)) })).toEqual([]);
  });

  it('check e-mails, URLs and currencies', () => {
    const many = ['a@b.c, d@e.f', 'a@b.c,d@e.f', 'a,b@c.d', 'a@b.c;d', 'a;b@c.d', 'group:a@b.c;', 'x:a@b.c'];
    const named = ['Ada <a@b.c>', 'Ada<a@b.c>', '<a@b.c>', '"Ada"<a@b.c>', '"a b"@c.d', 'a(note)@b.c', 'a@[127.0.0.1]'];
    const odd = ['nobody', '@b.c', 'a@', 'a@b@c', ' a@b.c', 'a@b.c\n', 'a\r\nBcc:x@b.c', 'a\u0085@b.c', 'a\\b@c.d'];
    for (const email of [...many, ...named, ...odd]) {
      expect([email, issuesOf(newUser.input, { email })]).toEqual([email, ['/email: email must be an e-mail address']]);
    }
    for (const email of ['a@b', "o'neil+1@example.co.uk", 'ä.ö@bücher.example', '用户@例子.公司']) {
      expect(issuesOf(newUser.input, { email })).toEqual([]);
    }
    expect(issuesOf(optionalUrl, '')).toEqual([]);
    expect(issuesOf(optionalUrl, 'javascript:alert(1)')).toHaveLength(1);
    expect(parse(Currency, 'kwd')).toBe('KWD');
  });

  it('read a URL alike however often: URL.canParse of Node 20 misreads such names once it is compiled', () => {
    const names = ['https://b\u00fccher.example/', 'https://%c2\u00ad/'];
    const issues = Array.from({ length: 40_000 }, (_, at) => issuesOf(optionalUrl, names[at % 2]).length);
    expect(issues.every((count, at) => count === at % 2)).toBe(true);
  });

  it('bound pages', () => {
    expect(parse(adminNoteList.input, { userId: '5' })).toEqual({ userId: 5, page: 0, count: 20 });
    expect(parse(adminNoteList.input, { userId: '5', count: '1000', page: 9 })).toMatchObject({ count: 1_000 });
    expect(issuesOf(adminNoteList.input, { userId: '5', count: '1001' })).toEqual([
      '/count: count must be at most 1000',
    ]);
    expect(issuesOf(adminNoteList.input, { userId: '5', page: '100', count: '100' })).toEqual([
      '/page: page must end within the first 10000 entries ((page + 1) × count): narrow the time range',
    ]);
  });
});

describe('an input of a client in another language', () => {
  const line = { unitAmountExcludingTax: 5, name: null, planId: null };
  const invoice = { userId: 1, currency: 'USD', taxPercentage: 0, lines: [line], name: null, gatewayId: null };

  it('has null for an optional field as if it were absent, within objects and lists too', () => {
    expect(parse(newInvoice.input, invoice)).toEqual(
      parse(newInvoice.input, { userId: 1, currency: 'USD', taxPercentage: 0, lines: [{ unitAmountExcludingTax: 5 }] }),
    );
    const bank = { accountHolder: 'Acme', address: '1 Main St', iban: null };
    const setup = { currency: 'USD', minimumAmount: 100, bank: JSON.stringify(bank) };
    expect(parse(setupWireTransfer.input, setup).bank).toMatchObject({ iban: '' });
  });

  it('keeps null where it is a value', () => {
    const schema = z.object({ one: z.object({}).nullable(), any: z.unknown(), two: z.string().nullable().optional() });
    const sent = { one: null, any: null, two: null };
    expect(spelled(schema, sent)).toBe(sent);
    expect(spelled(schema, { ONE: null, any: null })).toEqual({ one: null, any: null });
  });

  it('lacks a required field that is null', () => {
    expect(issuesOf(newInvoice.input, { ...invoice, userId: null })).toEqual(['/userId: userId is required']);
    expect(issuesOf(newInvoice.input, { ...invoice, lines: [null] })).toEqual(['/lines/0: lines[0] must be an object']);
  });

  it('may spell a key in another case; a field of that very name takes precedence', () => {
    const sent = { USERID: 2, userid: 3, Currency: 'EUR', currency: null, taxPercentage: 0, TaxPercentage: 9 };
    const value = parse(newInvoice.input, { ...sent, Lines: [{ UnitAmountExcludingTax: 5 }] });
    expect(value).toMatchObject({
      userId: 3,
      currency: 'EUR',
      taxPercentage: 0,
      lines: [{ unitAmountExcludingTax: 5 }],
    });
    expect(issuesOf(newInvoice.input, { ...invoice, userId: null, UserID: 'x' })).toEqual([
      '/userId: userId must be an integer',
    ]);
  });

  it('has no two fields that differ in case only', () => {
    const doubled = (schema: z.core.JSONSchema.BaseSchema): string[] => {
      const names = Object.keys(schema.properties ?? {});
      const inner = [...Object.values(schema.properties ?? {}), schema.items, ...(schema.anyOf ?? [])].flat();
      return [
        ...names.filter((name, at) => names.findIndex(one => one.toLowerCase() === name.toLowerCase()) !== at),
        ...inner.flatMap(one => (typeof one === 'object' ? doubled(one) : [])),
      ];
    };
    const all = operations.flatMap(({ input }) => doubled(z.toJSONSchema(input, { io: 'input' })));
    expect(all).toEqual([]);
    expect(doubled(z.toJSONSchema(z.object({ a: z.array(z.object({ b: z.int(), B: z.int() })) })))).toEqual(['B']);
  });

  it('keeps null and every spelling within metadata', () => {
    const metadata = { UserId: null, userid: 1 };
    expect(parse(updateUser.input, { userId: 1, metadata }).metadata).toEqual(metadata);
  });

  it('has metadata as an object, as its JSON text, or blank for none', () => {
    const given = (metadata: unknown) => parse(updateUser.input, { userId: 1, metadata }).metadata;
    expect([given({ a: 1 }), given('{"a":1}'), given(''), given(null)]).toEqual([{ a: 1 }, { a: 1 }, {}, undefined]);
    for (const wrong of ['[1]', 'null', '{', 'text', 7, [1]]) {
      expect(issuesOf(updateUser.input, { userId: 1, metadata: wrong })).toEqual([
        '/metadata: metadata must be an object',
      ]);
    }
  });

  it('is passed on as it is where there is nothing to change', () => {
    const sent = { ...invoice, name: '', gatewayId: 0, lines: [{ unitAmountExcludingTax: 5 }], other: null };
    expect(spelled(newInvoice.input, sent)).toBe(sent);
    expect(spelled(newInvoice.input, [1])).toEqual([1]);
  });
});

describe('fields of a query', () => {
  const fields = z.object({ id: q.int(), on: q.bool(), ids: q.ints(), names: q.strings() });

  it('are read from text', () => {
    expect(parse(fields, { id: '-42', on: 'true', ids: '1,2', names: ['a', 'b,c'] })).toEqual({
      id: -42,
      on: true,
      ids: [1, 2],
      names: ['a', 'b', 'c'],
    });
    expect(parse(fields, { id: '0', on: '0', ids: ['1', '2'], names: '' })).toEqual({
      id: 0,
      on: false,
      ids: [1, 2],
      names: [],
    });
  });

  it('are taken as they are from a body', () => {
    const body = { id: 42, on: false, ids: [1], names: ['a'] };
    expect(parse(fields, body)).toEqual(body);
  });

  it('say what they want', () => {
    expect(issuesOf(fields, { id: '4.2', on: 'yes', ids: '1,x', names: 5 })).toEqual([
      '/id: id must be an integer',
      '/on: on must be true or false',
      '/ids/1: ids[1] must be an integer',
      '/names: names must be a list',
    ]);
    expect(issuesOf(q.int(), '9007199254740992')).toEqual([': The input must be at most 9007199254740991']);
  });

  it('are documented by their true type', () => {
    expect(z.toJSONSchema(fields, { io: 'input' })).toMatchObject({
      properties: {
        id: { type: 'integer' },
        on: { type: 'boolean' },
        ids: { type: 'array', items: { type: 'integer' } },
        names: { type: 'array', items: { type: 'string' } },
      },
      required: ['id', 'on', 'ids', 'names'],
    });
  });
});

describe('a rate', () => {
  it.each([0, -0, 1, 149.5, 0.0021, 1e-12, 0.123456789012, 999_999_999.5, 1e9])('may be %p', value => {
    expect(issuesOf(rate, value)).toEqual([]);
  });

  it.each([1e-13, 0.1234567890123, -1, 1e10, Number.NaN, Number.POSITIVE_INFINITY, '1', null])(
    'may not be %p',
    value => {
      expect(issuesOf(rate, value)).toHaveLength(1);
    },
  );
});

describe('a list of distinct entries', () => {
  const currencies = distinct(z.object({ currency: Currency }), 'currency');

  it('names each once, as it is read', () => {
    expect(issuesOf(currencies, [{ currency: 'EUR' }, { currency: 'USD' }])).toEqual([]);
    expect(issuesOf(currencies, [])).toEqual([]);
    expect(issuesOf(currencies, [{ currency: 'EUR' }, { currency: 'eur' }])).toEqual([
      ': The input must name each currency once',
    ]);
  });
});

describe('a field that is named like a URL', () => {
  /** Fields whose names have such a word and that are no URL: what they are instead. */
  const exempt: Readonly<Record<string, string>> = { LinkedIn: 'a handle' };
  const isNamedSo = (name: string) => /url|uri|link|logo|icon|image|avatar|website|href/i.test(name);
  type Schema = z.core.JSONSchema.BaseSchema;

  /** Text fields named like URLs at any depth, with the schema of their texts. */
  function urlsIn(schema: Schema, name = ''): [string, Schema][] {
    const inner = Object.entries(schema.properties ?? {}).flatMap(([key, field]) => urlsIn(field as Schema, key));
    const entries = [schema.items, ...(schema.anyOf ?? [])].flatMap(one => (one ? urlsIn(one as Schema, name) : []));
    const own: [string, Schema][] = schema.type === 'string' && isNamedSo(name) ? [[name, schema]] : [];
    return [...own, ...inner, ...entries];
  }
  const takesHttpOnly = (schema: Schema) => String(schema['x-rule']).startsWith('must be an http or https URL');
  const open = (all: readonly z.ZodType[]) =>
    all.flatMap(input =>
      urlsIn(z.toJSONSchema(input, { io: 'input', reused: 'inline' })).flatMap(([name, schema]) =>
        takesHttpOnly(schema) || name in exempt ? [] : [name],
      ),
    );

  it('takes http and https only, in every input', () => {
    expect(open(operations.map(({ input }) => input))).toEqual([]);
    const found = operations.flatMap(({ input }) => urlsIn(z.toJSONSchema(input, { io: 'input', reused: 'inline' })));
    expect(found.map(([name]) => name)).toEqual(
      expect.arrayContaining(['homeUrl', 'imageUrl', 'gatewayIcons', 'returnUrl', 'companyLogo']),
    );
    expect(open([z.object({ list: z.array(z.object({ pageIcons: z.array(z.union([line, list(line)])) })) })])).toEqual([
      'pageIcons',
      'pageIcons',
    ]);
  });

  it.each(['javascript:alert(1)', 'JaVaScRiPt:alert(1)', 'data:text/html,x', ' https://a.example', '//a.example', 'x'])(
    'does not take %s',
    value => {
      for (const input of [httpUrl, optionalUrl, returnUrl]) expect(issuesOf(input, value)).toHaveLength(1);
      expect(issuesOf(newProduct.input, { productName: 'x', homeUrl: value, imageUrl: value })).toHaveLength(2);
      const gatewayIcons = [value, [value]];
      expect(
        issuesOf(setupWireTransfer.input, { currency: 'USD', minimumAmount: 0, gatewayIcons }).length,
      ).toBeGreaterThan(0);
    },
  );

  it('is known as one to return to', () => {
    const found = operations.flatMap(({ name, input }) => returnFields(input).map(field => `${name}.${field}`));
    expect(found.sort()).toEqual([
      'portal.create_submit.cancelUrl',
      'portal.create_submit.returnUrl',
      'portal.update_submit.cancelUrl',
      'portal.update_submit.returnUrl',
      'session.customer_portal_url.cancelUrl',
      'session.customer_portal_url.returnUrl',
      'session.new_session.cancelUrl',
      'session.new_session.returnUrl',
      'session.user_sub_update_url.cancelUrl',
      'session.user_sub_update_url.returnUrl',
      'subscription.create_submit.cancelUrl',
      'subscription.create_submit.returnUrl',
      'subscription.new_onetime_addon_payment.returnUrl',
      'subscription.renew.cancelUrl',
      'subscription.renew.returnUrl',
      'subscription.update_submit.cancelUrl',
      'subscription.update_submit.returnUrl',
      'webhook.automation_oauth_url.returnUrl',
    ]);
  });
});
