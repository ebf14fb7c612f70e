import { expect, it } from '@jest/globals';
import { z } from 'zod';
import '../src/index.js';

interface Schema {
  $ref?: string;
  type?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  description?: string;
}
const { schemas } = z.toJSONSchema(z.globalRegistry, { uri: id => id }) as { schemas: Record<string, Schema> };

/** Shapes of the merchant's operations under another name than that of the hosted pages. */
const counterparts: Readonly<Record<string, string>> = {
  PortalPlanAddon: 'PlanSnapshotAddon',
  PortalMetric: 'MerchantMetric',
  PortalCharge: 'MerchantMetricPlanChargeDetail',
  PortalOffer: 'PlanDetail',
  PortalPendingUpdate: 'SubscriptionPendingUpdate',
  PortalMerchant: 'InvoiceMerchant',
  PortalOfferedGateway: 'Gateway',
  PortalSeller: 'InvoiceMerchant',
  PortalPlanCurrency: 'MultiCurrencyConfig',
  PortalPlanLimit: 'MetricPlanLimit',
  PortalChargeStat: 'UserMerchantMetricChargeStat',
  PortalMetricLimit: 'UserHistoryMetricLimit',
  PortalLimitStat: 'UserMerchantMetricLimitStat',
  PortalUsage: 'UserMetric',
};
/** Shapes that only the hosted pages have. */
const own = ['PortalExplanation', 'PortalCollecting', 'PortalTransfer'];
/** Fields that only the hosted pages have: the merchant's own answers mask all keys, and list methods of one gateway. */
const ownFields = ['PortalOfferedGateway.publicKey', 'PortalPaymentMethod.gatewayId'];

const resolved = (schema: Schema): Schema => (schema.$ref ? (schemas[schema.$ref] as Schema) : schema);
const bare = ({ description: _, anyOf: __, items: ___, properties: ____, ...rest }: Schema) => rest;

/** Places at which a shape says something other than the one it is a part of. */
function differences(part: Schema, whole: Schema | undefined, at: string): string[] {
  if (whole === undefined) return [at];
  const [one, other] = [resolved(part), resolved(whole)];
  if (one === other) return [];
  if (one.anyOf ?? other.anyOf) {
    const others = other.anyOf ?? [];
    return (one.anyOf ?? []).length === others.length
      ? (one.anyOf ?? []).flatMap((each, n) => differences(each, others[n], at))
      : [at];
  }
  if (one.items && other.items) return differences(one.items, other.items, at);
  if (one.properties) {
    const fields = Object.entries(one.properties);
    return fields.flatMap(([name, field]) => differences(field, other.properties?.[name], `${at}.${name}`));
  }
  return JSON.stringify(bare(one)) === JSON.stringify(bare(other)) ? [] : [at];
}

it("shapes of the hosted pages are parts of the merchant's: same names, same types, fewer fields", () => {
  const planted: Schema = { type: 'object', properties: { id: { type: 'string' }, secret: { type: 'string' } } };
  const whole: Schema = { type: 'object', properties: { id: { type: 'integer' } } };
  expect(differences(planted, whole, 'X')).toEqual(['X.id', 'X.secret']);
  const shapes = Object.keys(schemas).filter(id => id.startsWith('Portal') && !own.includes(id));
  expect(shapes.length).toBeGreaterThan(10);
  const found = shapes.flatMap(id => {
    const counterpart = counterparts[id] ?? id.slice('Portal'.length);
    return differences(schemas[id] as Schema, schemas[counterpart], id);
  });
  expect(found).toEqual(ownFields);
});
