/** Series that an expression of PromQL selects: names of metrics, and the labels that it names. */
export interface Selected {
  metrics: string[];
  labels: string[];
}

const words = new Set(
  'sum min max avg count topk bottomk by without on ignoring and or unless rate irate increase histogram_quantile label_values bool'.split(
    ' ',
  ),
);

/** The selectors of an expression. Enough of PromQL for alerts and dashboards: functions, selectors, aggregations. */
export function selectedBy(expression: string): Selected {
  const labels: string[] = [];
  const named = (list: string) => list.split(',').map(label => label.trim().split(/[=!~ ]/)[0] ?? '');
  const bare = expression
    .replace(/#.*$/gm, '')
    .replace(/"[^"]*"/g, '""')
    .replace(/\{([^}]*)\}/g, (_, list: string) => {
      labels.push(...named(list));
      return '';
    })
    .replace(/\[[^\]]*\]/g, '')
    .replace(/\b(by|without|on|ignoring)\s*\(([^)]*)\)/g, (_, _word, list: string) => {
      labels.push(...named(list));
      return '';
    })
    .replace(/label_values\(([^,)]*),\s*(\w+)\)/g, (_, metric: string, label: string) => {
      labels.push(label);
      return metric;
    });
  const metrics = [...bare.matchAll(/[a-zA-Z_:][\w:]*/g)].map(([word]) => word).filter(word => !words.has(word));
  return { metrics: [...new Set(metrics)], labels: [...new Set(labels)].filter(label => label !== '') };
}

/** Series in the text of /metrics, by name, with their labels. */
export function seriesIn(text: string): Map<string, Set<string>> {
  const series = new Map<string, Set<string>>();
  for (const line of text.split('\n')) {
    const [, name, list = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? /.exec(line) ?? [];
    if (name === undefined) continue;
    const labels = series.get(name) ?? new Set();
    for (const [, label = ''] of list.matchAll(/(\w+)="/g)) labels.add(label);
    series.set(name, labels);
  }
  return series;
}
