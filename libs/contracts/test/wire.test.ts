import { describe, expect, it } from '@jest/globals';
import { Invoice } from '../src/billing/invoices/shape.js';
import { deviations } from '../src/deviations.js';
import { emptyOf } from '../src/empty.js';
import { operations } from '../src/operations.js';
import { lifecycleContract, problems, type Wire, wireContract } from './wire.js';

describe('the contracts against the wire', () => {
  it('have every operation and every field, stricter only where it is listed', () => {
    expect(problems(wireContract(), operations, deviations)).toEqual([]);
  });

  it('have the operations of the first journey that stand elsewhere', () => {
    expect(problems(lifecycleContract(), operations)).toEqual([]);
  });

  it('have one Invoice: all the fields of each of its three forms, its number and its deadline', () => {
    const { InvoiceDetail, InvoiceBean } = lifecycleContract().shapes;
    const names = Object.keys({
      ...wireContract().shapes.Invoice,
      ...InvoiceDetail,
      ...InvoiceBean,
      number: 'string',
      deadline: 'integer',
    });
    expect(Object.keys(emptyOf(Invoice)).sort()).toEqual(names.sort());
  });

  it('cover both documents, and have no operation that stands in neither, but for those of hosted pages, links and checks of usage', () => {
    const paths = [...wireContract().operations, ...lifecycleContract().operations].map(({ path }) => path);
    expect(wireContract().operations).toHaveLength(27);
    const beyond = /^(\/portal\/|\/merchant\/(invoice\/document_link_revoke|metric\/check)$)/;
    const ours = operations.map(({ path }) => path).filter(path => !beyond.test(path));
    expect(ours.sort()).toEqual(paths.sort());
  });
});

/** The problems found after planting a violation in a matching pair. */
function planted(plant: (wire: Wire) => void, listed = deviations): string[] {
  const wire = wireContract();
  plant(wire);
  return problems(wire, operations, listed);
}
const find = (wire: Wire, path: string) => {
  const found = wire.operations.find(op => op.path === `/merchant/${path}`);
  if (found === undefined) throw new Error(path);
  return found;
};
const shape = (wire: Wire, name: string) => wire.shapes[name] ?? {};

describe('a planted violation is caught', () => {
  it.each<[string, (wire: Wire) => void, string]>([
    [
      'an operation too few',
      wire => wire.operations.push({ methods: ['POST'], path: '/merchant/x', request: {}, response: {} }),
      '/merchant/x: no such operation',
    ],
    ['another method', wire => (find(wire, 'user/count').methods = ['POST']), 'user.count: methods GET'],
    [
      'other headers',
      wire => find(wire, 'auth/sso/oauth/login').oneOfHeaders?.pop(),
      'auth.oauth_login: headers X-Auth-JS-Token,X-Auth-Token,X-OAuth-Token',
    ],
    [
      'an input without a field',
      wire => (find(wire, 'invoice/new').request.note = 'string'),
      'invoice.new.note: missing in the input',
    ],
    [
      'an input of another type',
      wire => (find(wire, 'invoice/new').request.finish = 'string'),
      'invoice.new.finish: the input takes boolean, the wire string',
    ],
    [
      'a list of another type',
      wire => (find(wire, 'webhook/update_endpoint').request.productIds = '[string]'),
      'webhook.update_endpoint.productIds[]: the input takes integer, the wire string',
    ],
    [
      'an input that does not ask for what the wire asks',
      wire => (find(wire, 'checkout/list').request.SearchKey = 'string!'),
      'checkout.list.SearchKey: required on the wire, not in the input',
    ],
    [
      'an input that asks for what the wire does not',
      wire => (find(wire, 'credit/detail').request.id = 'integer'),
      'credit.detail.id: required is not in deviations.ts',
    ],
    [
      'a line of an input without a field',
      wire => (shape(wire, 'InvoiceNewLine').note = 'string'),
      'invoice.new.lines[].note: missing in the input',
    ],
    [
      'an answer without a field',
      wire => (find(wire, 'user/count').response.page = 'integer'),
      'user.count.page: missing in the answer',
    ],
    [
      'a nested shape without a field',
      wire => (shape(wire, 'MetricPlanChargeStep').note = 'string'),
      'invoice.new.invoice.lines.plan.metricMeteredCharge.graduatedAmounts.note: missing in the answer',
    ],
    [
      'a field of another type',
      wire => (shape(wire, 'GatewayPaymentType').autoCharge = 'integer'),
      'gateway.wire_transfer_setup.gateway.defaultGatewayPaymentType.autoCharge: the answer has boolean, the wire integer',
    ],
    [
      'an integer where the wire has a number',
      wire => (shape(wire, 'Product').status = 'number'),
      'product.edit.product.status: the answer has integer, the wire number',
    ],
    [
      'a map of another type',
      wire => (shape(wire, 'MerchantMember').MemberGroupPermission = 'map<string,string>'),
      'auth.oauth_login.merchantMember.MemberGroupPermission: the answer has object, the wire string',
    ],
    [
      'a null in place of a text',
      wire => (find(wire, 'product/edit').response.product = 'string'),
      'product.edit.product: the answer has object, the wire string',
    ],
  ])('%s', (_, plant, problem) => {
    expect(planted(plant)).toContain(problem);
  });

  it('a strictness that is not listed', () => {
    const listed = deviations.filter(({ field }) => field !== 'lines[].quantity');
    expect(planted(() => {}, listed)).toEqual([
      'invoice.new.lines[].quantity: minimum is not in deviations.ts',
      'invoice.new.lines[].quantity: maximum is not in deviations.ts',
    ]);
  });

  it('a listed strictness that no schema has', () => {
    const extra = { operations: ['user.count'], field: 'createTimeEnd', adds: ['minimum'], section: 2, why: '' };
    expect(planted(() => {}, [...deviations, extra])).toEqual([
      'user.count createTimeEnd minimum: in deviations.ts, in no schema',
    ]);
  });
});
