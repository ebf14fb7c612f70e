import { aggregationType, type MerchantMetric, metricType } from '@recur/contracts';
import type { Aggregation, MetricKind } from './domain/aggregation.js';
import { isCharge } from './domain/counter.js';

const named = <N extends string>(table: Readonly<Record<N, number>>): ReadonlyMap<number, N> =>
  new Map(Object.entries(table).map(([name, code]) => [code as number, name as N]));
const aggregations = named<Aggregation>(aggregationType);
const kinds = named<MetricKind>(metricType);

function nameIn<N>(names: ReadonlyMap<number, N>, code: number): N {
  const name = names.get(code);
  if (name === undefined) throw new Error(`no name of code ${code}`);
  return name;
}

export const aggregationOf = ({ aggregationType: code }: Pick<MerchantMetric, 'aggregationType'>): Aggregation =>
  nameIn(aggregations, code);
export const kindOf = ({ type }: Pick<MerchantMetric, 'type'>): MetricKind => nameIn(kinds, type);
export const isLimit = (metric: Pick<MerchantMetric, 'type'>): boolean => !isCharge(kindOf(metric));
