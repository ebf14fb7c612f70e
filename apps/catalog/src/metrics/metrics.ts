import { Controller } from '@nestjs/common';
import {
  aggregationType,
  deleteMetric,
  editMetric,
  type In,
  listMetrics,
  metricDetail,
  metricType,
  newMetric,
} from '@recur/contracts';
import { invalid } from '@recur/kernel';
import { type Caller, Db, given, Handle, type Reader, sorted, type Tx } from '@recur/platform';
import { nameOfCode } from '../codes.js';
import { sortNameOf } from '../columns.js';
import { withId } from '../lists.js';
import { activePlansUsing } from '../plan-references.js';
import { metricAggregate } from './aggregate.js';
import { edit, type MetricEdit, type MetricType, remove } from './domain/metric.js';
import { type MetricRow, metrics } from './tables.js';
import { metricView } from './views.js';

const metricOrders = { createTime: 'create_time', metricName: 'sort_name', code: 'code', modifyTime: 'modify_time' };

@Controller()
export class Metrics {
  constructor(private readonly db: Db) {}

  @Handle(newMetric)
  create({ type, aggregationType: aggregation, metaData, ...texts }: In<typeof newMetric>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const id = await tx.nextId(metrics);
      const metric: MetricRow = {
        ...texts,
        merchantId: tx.merchantId,
        id,
        version: 0,
        type: nameOfCode(metricType, type),
        aggregationType: nameOfCode(aggregationType, aggregation),
        metadata: metaData,
        createTime: tx.now,
        modifyTime: tx.now,
        deletedTime: 0,
        sortName: sortNameOf(texts.metricName),
      };
      tx.onConflict('metrics_code', () => invalid('/code', 'is the code of another metric'));
      return { merchantMetric: tx.step(metricAggregate, metric, 'metric.created', { log: 'New' }).view };
    });
  }

  @Handle(editMetric)
  edit({ metricId, type, metaData, ...texts }: In<typeof editMetric>, caller: Caller) {
    const sent: MetricEdit & Pick<MetricRow, 'sortName'> = {
      ...texts,
      sortName: sortNameOf(texts.metricName),
      ...(type !== undefined && { type: nameOfCode(metricType, type) }),
      ...(metaData && { metadata: metaData }),
    };
    return this.db.write(caller, async tx => {
      const metric = await lockMetric(tx, metricId);
      const retyped = sent.type !== undefined && sent.type !== metric.type;
      const edited = edit(metric, sent, retyped ? await activePlansUsing(tx, metricId) : [], tx.now);
      if (!edited) return { merchantMetric: metricView(metric) };
      return { merchantMetric: tx.step(metricAggregate, edited, 'metric.updated', { log: 'Edit' }).view };
    });
  }

  @Handle(deleteMetric)
  delete({ metricId }: In<typeof deleteMetric>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const metric = await lockMetric(tx, metricId);
      const deleted = remove(metric, await activePlansUsing(tx, metricId), tx.now);
      return { merchantMetric: tx.step(metricAggregate, deleted, 'metric.deleted', { log: 'Delete' }).view };
    });
  }

  @Handle(metricDetail)
  detail({ metricId }: In<typeof metricDetail>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const metric = await reader.get(metrics, { id: metricId, deletedTime: 0 }, 'metric_not_found');
      return { merchantMetric: metricView(metric) };
    });
  }

  @Handle(listMetrics)
  async list({ searchKey = '', page, count, ...input }: In<typeof listMetrics>, caller: Caller) {
    const part = searchKey.trim();
    const found = await this.db.search(caller, 'metrics', [{ column: 'texts', field: 'searchKey', part }]);
    return this.db.read(caller, async reader => {
      const { rows, total } = await reader.page({
        from: metrics,
        where: [
          ['deleted_time = ?', 0],
          ['id = any(?)', found && withId(found, part)],
          ['create_time >= ?', given(input.createTimeStart)],
          ['create_time <= ?', given(input.createTimeEnd)],
        ],
        order: sorted(metricOrders, input),
        page,
        count,
        sparse: found !== undefined,
      });
      return { merchantMetrics: rows.map(metricView), total };
    });
  }
}

/**
 * Locks a metric that is not deleted. Plans lock their metrics (`holdMetrics`) before they become active, so of a
 * deletion and an activation at the same time the second one sees the first.
 */
const lockMetric = (tx: Tx, id: number) => tx.lock(metricAggregate, { id, deletedTime: 0 }, 'metric_not_found');

/** Metrics with these ids, deleted ones included. */
export const metricsAmong = (reader: Reader, ids: readonly number[]): Promise<MetricRow[]> =>
  reader.among(metrics, 'id', ids);

/** A metric, deleted or not. */
export const findMetric = (reader: Reader, id: number): Promise<MetricRow | undefined> => reader.find(metrics, { id });

/**
 * Locks the metrics with these ids (`for share`) and returns the types of those that are not deleted: none is deleted
 * or retyped before the commit. Lock order: plans first, then metrics by id. A deletion of a metric locks no plan, so
 * there is no deadlock; plans that use the same metric do not wait for each other.
 */
export async function holdMetrics(tx: Tx, ids: readonly number[]): Promise<Map<number, MetricType>> {
  if (ids.length === 0) return new Map();
  const rows = await tx.run(
    `select id, type from metrics where merchant_id = $1 and id = any($2) and deleted_time = 0 order by id for share`,
    [tx.merchantId, [...new Set(ids)]],
  );
  return new Map(rows.map(({ id, type }) => [Number(id), type as MetricType]));
}
