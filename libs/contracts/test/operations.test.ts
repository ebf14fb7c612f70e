import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { newInvoice } from '../src/billing/invoices/invoices.js';
import { commonErrors, errors } from '../src/errors.js';
import { newUser } from '../src/identity/users.js';
import { anyMember, anyUser, type In, type Operation, permissionGroups, subjectOf } from '../src/operation.js';
import { operations } from '../src/operations.js';

describe('operations', () => {
  it('have names, routes and subjects of their own', () => {
    const routes = operations.flatMap(op =>
      [op.path, ...(op.otherPaths ?? [])].flatMap(path => op.methods.map(method => `${method} ${path}`)),
    );
    for (const keys of [operations.map(op => op.name), operations.map(subjectOf), routes]) {
      expect(new Set(keys).size).toBe(keys.length);
    }
    for (const { name } of operations) expect(name).toMatch(/^[a-z]+\.[a-z_]+$/);
  });

  it('name a permission of a known group', () => {
    for (const { permission } of operations.filter(
      ({ permission }) => permission !== anyMember && permission !== anyUser,
    )) {
      const [group = '', action] = permission.split('.');
      expect(permissionGroups).toContain(group);
      expect(['access', 'read', 'write', 'download']).toContain(action);
    }
  });

  it('need no permission where an admin portal asks before it knows the member', () => {
    const open = operations.filter(({ permission }) => permission === anyMember).map(({ name }) => name);
    expect(open.sort()).toEqual([
      'gateway.list',
      'member.profile',
      'merchant.get',
      'merchant.get_license',
      'product.list',
      'system.information',
    ]);
  });

  it('are for users under /portal, and nowhere else', () => {
    for (const { permission, path } of operations) expect(permission === anyUser).toBe(path.startsWith('/portal/'));
    const open = operations.filter(({ permission, anonymous }) => permission === anyUser && anonymous);
    expect(open.map(({ name }) => name).sort()).toEqual([
      'portal.invoice_open',
      'portal.invoice_pay_link',
      'portal.session_exchange',
    ]);
  });

  it('take GET and POST where they answer a list', () => {
    const lists = operations.filter(({ name }) => name.endsWith('list'));
    expect(lists.filter(({ methods }) => `${methods}` !== 'GET,POST')).toEqual([]);
    expect(lists.length).toBeGreaterThan(15);
  });

  it('say in one sentence what they do', () => {
    for (const { summary } of operations) expect(summary).toMatch(/^[A-Z].{15,120}[^.]$/);
  });

  it('keep every answer that holds a credential encrypted', () => {
    const secret = operations.filter(op => op.secretOutput).map(op => op.name);
    expect(secret.sort()).toEqual([
      'apikey.new',
      'auth.login',
      'auth.login_otp_verify',
      'auth.oauth_login',
      'auth.oauth_setup',
      'auth.password_setup',
      'gateway.archive',
      'gateway.edit',
      'gateway.edit_sort',
      'gateway.restore',
      'gateway.set_default',
      'gateway.setup',
      'gateway.wire_transfer_edit',
      'gateway.wire_transfer_setup',
      'member.confirm_totp_key',
      'member.get_totp_key',
      'member.new',
      'member.reset_password',
      'portal.session_exchange',
      'session.customer_portal_url',
      'session.new_session',
      'session.user_sub_update_url',
      'webhook.automation_oauth_url',
      'webhook.get_webhook_secret',
      'webhook.new_endpoint',
      'webhook.rotate_secret',
    ]);
  });

  it('can all be written as JSON Schema, as an object of fields', () => {
    for (const { input, output } of operations) {
      expect(z.toJSONSchema(input, { io: 'input' }).type).toBe('object');
      expect(z.toJSONSchema(output).type).toBe('object');
    }
  });

  it('type the input of a handler', () => {
    const input: In<typeof newInvoice> = newInvoice.input.parse({
      userId: 1,
      currency: 'usd',
      taxPercentage: 0,
      lines: [{ unitAmountExcludingTax: 5 }],
    });
    const quantity: number | undefined = input.lines[0]?.quantity;
    expect([input.currency, quantity, input.finish, input.gatewayId]).toEqual(['USD', 1, false, 0]);
  });
});

describe('a secret', () => {
  const asksForOne = ({ input }: Operation) =>
    /"\w*(password|secret|privateKey)\w*":/i.test(JSON.stringify(z.toJSONSchema(input, { io: 'input' })));
  const careless = (all: readonly Operation[]) =>
    all.filter(op => op.effect === 'write' && asksForOne(op) && !op.secretInput && !op.secretOutput);

  it('that is sent is not kept as a digest that it could be guessed from', () => {
    expect(careless(operations).map(({ name }) => name)).toEqual([]);
    const { secretInput: _, ...planted } = newUser;
    expect(careless([planted as Operation])).toHaveLength(1);
  });
});

describe('errors', () => {
  const statuses: Record<number, number[]> = {
    49: [400],
    50: [500],
    51: [400, 413, 415],
    52: [400],
    53: [404, 405],
    54: [409, 422],
    55: [429],
    56: [503],
    61: [401],
    62: [401],
    63: [403],
  };

  it.each(Object.entries(errors))('%s has a code with its HTTP status', (_, { code, http, message }) => {
    expect(statuses[code]).toContain(http);
    expect(message).toMatch(/^[A-Z].+[^.]$/);
  });

  it('are answered by an operation, by all, or by the gateway itself', () => {
    const gateway = ['unknown_path', 'method_not_allowed', 'export_not_found'];
    const answered = new Set<string>([...gateway, ...commonErrors, ...operations.flatMap(op => op.errors)]);
    expect(Object.keys(errors).filter(slug => !answered.has(slug))).toEqual([]);
    expect([...answered].filter(slug => !(slug in errors))).toEqual([]);
  });

  it('of an operation are not those of all again', () => {
    for (const op of operations) expect(op.errors.filter(slug => commonErrors.includes(slug))).toEqual([]);
  });
});
