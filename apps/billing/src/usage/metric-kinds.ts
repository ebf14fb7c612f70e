import { aggregationType, type MerchantMetric, metricType } from '@recur/contracts';
import type { Aggregation, MetricKind } from './domain/aggregation.js';

const nameOf = <T extends Readonly<Record<string, number>>>(table: T, code: number): keyof T & string => {
  const found = Object.entries(table).find(([, number]) => number === code);
  if (!found) throw new Error(`no name of code ${code}`);
  return found[0];
};

export const aggregationOf = ({ aggregationType: code }: Pick<MerchantMetric, 'aggregationType'>): Aggregation =>
  nameOf(aggregationType, code);
export const kindOf = ({ type }: Pick<MerchantMetric, 'type'>): MetricKind => nameOf(metricType, type);
export const isLimit = (metric: Pick<MerchantMetric, 'type'>): boolean => kindOf(metric).startsWith('limit');
