import type { ExportRow, In, listUsageEvents } from '@recur/contracts';
import type { Caller, Db, SliceAt, Sliced } from '@recur/platform';
import { buyerColumns, usersOfRows } from '../../customers/exported.js';
import { metricsById } from '../../customers/metrics.js';
import { usageEvents } from '../tables.js';
import { eventsWhere } from './event-list.js';
import { partsOf } from './event-views.js';

/** The next events of metric/event_list as rows of an export, by id: their tables have no index by creation time. */
export function exportedEvents(
  db: Db,
  caller: Caller,
  input: In<typeof listUsageEvents>,
  at: SliceAt,
): Promise<Sliced<ExportRow<'MetricEventExport'>>> {
  return db.read(caller, async reader => {
    const where = await eventsWhere(reader, input);
    const { rows, next } = await reader.slice({ from: usageEvents, where, by: ['id', 'eventTime'], ...at });
    if (rows.length === 0) return { rows: [], next };
    const metricIds = rows.map(({ metricId }) => metricId);
    const [parts, metrics, users] = await Promise.all([
      partsOf(reader, rows),
      metricsById(reader, metricIds),
      usersOfRows(reader, rows),
    ]);
    const shown = rows.map((row, index) => {
      const metric = metrics.get(row.metricId);
      const { periodStart = 0, periodEnd = 0 } = parts[index] ?? {};
      return {
        Id: row.id,
        ExternalEventId: row.externalEventId,
        MetricCode: metric?.code ?? '',
        MetricName: metric?.metricName ?? '',
        Value: Number(row.value),
        SubscriptionId: row.subscriptionId,
        PeriodStart: periodStart,
        PeriodEnd: periodEnd,
        EventTime: row.eventTime,
        CreateTime: row.createTime,
        ...buyerColumns(row.userId, users.get(row.userId)),
      };
    });
    return { rows: shown, next };
  });
}
