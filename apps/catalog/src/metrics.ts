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
import { type Caller, Db, given, Handle, sorted, type Tx } from '@recur/platform';
import { neededIds } from './domain/id-list.js';
import { edit, type MetricEdit, remove } from './domain/metric.js';
import { withId } from './filters.js';
import { type MetricRow, metrics } from './metric-tables.js';
import { metricView } from './metric-views.js';
import { sortNameOf } from './tables.js';
import { named } from './views.js';

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
        type: named(metricType, type),
        aggregationType: named(aggregationType, aggregation),
        metadata: metaData,
        createTime: tx.now,
        modifyTime: tx.now,
        deletedTime: 0,
        sortName: sortNameOf(texts.metricName),
      };
      const view = metricView(metric);
      tx.onConflict('metrics_code', () => invalid('/code', 'is the code of another metric'));
      tx.save(metrics, metric);
      tx.emit('metric.created', metric, view);
      tx.log(`Metric(${id})`, 'New');
      return { merchantMetric: view };
    });
  }

  @Handle(editMetric)
  edit({ metricId, type, metaData, ...texts }: In<typeof editMetric>, caller: Caller) {
    const sent: MetricEdit & Pick<MetricRow, 'sortName'> = {
      ...texts,
      sortName: sortNameOf(texts.metricName),
      ...(type !== undefined && { type: named(metricType, type) }),
      ...(metaData && { metadata: metaData }),
    };
    return this.db.write(caller, async tx => {
      const metric = await lock(tx, metricId);
      const retyped = sent.type !== undefined && sent.type !== metric.type;
      const edited = edit(metric, sent, retyped ? await activePlans(tx, metricId) : [], tx.now);
      if (!edited) return { merchantMetric: metricView(metric) };
      const view = metricView(edited);
      tx.save(metrics, edited);
      tx.emit('metric.updated', edited, view);
      tx.log(`Metric(${metricId})`, 'Edit');
      return { merchantMetric: view };
    });
  }

  @Handle(deleteMetric)
  delete({ metricId }: In<typeof deleteMetric>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const metric = await lock(tx, metricId);
      const deleted = remove(metric, await activePlans(tx, metricId), tx.now);
      const view = metricView(deleted);
      tx.save(metrics, deleted);
      tx.emit('metric.deleted', deleted, view);
      tx.log(`Metric(${metricId})`, 'Delete');
      return { merchantMetric: view };
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
        order: sorted({ createTime: 'create_time', metricName: 'sort_name', code: 'code' }, input),
        page,
        count,
        sparse: found !== undefined,
      });
      return { merchantMetrics: rows.map(metricView), total };
    });
  }
}

/**
 * A metric that is not deleted, for good until the commit. Plans hold the metrics that they name (`holdMetrics`) before
 * they become active, so whoever comes first wins: what was activated is seen here, what is deleted is seen there.
 */
const lock = (tx: Tx, id: number) => tx.lock(metrics, { id, deletedTime: 0 }, 'metric_not_found');

/** The ids of the active plans that use a metric, as many as there is need to know. */
async function activePlans(tx: Tx, metricId: number): Promise<number[]> {
  const rows = await tx.query(
    `select distinct plans.id from plan_metrics used
       join plans on plans.merchant_id = used.merchant_id and plans.id = used.plan_id
     where used.merchant_id = $1 and used.metric_id = $2 and plans.status = 'active'
     order by plans.id limit $3`,
    [tx.merchantId, metricId, neededIds],
  );
  return rows.map(({ id }) => Number(id));
}
