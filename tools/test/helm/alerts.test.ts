import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { alertProblems, findTool } from '../../charts/rendering.js';
import { selectedBy } from '../../journeys/series.js';
import { checkoutRoot } from '../../local/home.js';
import { read } from './manifests.js';

interface Alert {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; runbook: string };
}
interface Tested {
  alert_rule_test: { alertname: string; exp_alerts: unknown[] }[];
}

const alerts: Alert[] = parse(read('recur/alerts.yaml')).groups.flatMap(({ rules }: { rules: Alert[] }) => rules);
const cases = (parse(read('alerts.test.yaml')).tests as Tested[]).flatMap(test => test.alert_rule_test);

it('the alerts have unit tests, which promtool passes where it is; elsewhere "npm run charts" did', () => {
  const promtool = findTool('promtool');
  if (promtool !== undefined) expect(alertProblems(promtool)).toBeUndefined();
  const firing = cases.filter(({ exp_alerts }) => exp_alerts.length > 0).map(({ alertname }) => alertname);
  expect([...new Set(firing)].sort()).toEqual(alerts.map(({ alert }) => alert).sort());
});

it('each alert says how bad it is and where its page is', () => {
  expect(alerts.length).toBeGreaterThan(8);
  const page = readFileSync(path.join(checkoutRoot(), 'docs/operations.md'), 'utf8');
  for (const { alert, labels, annotations } of alerts) {
    expect(['critical', 'warning']).toContain(labels.severity);
    expect(annotations.runbook).toBe(`docs/operations.md#${alert.toLowerCase()}`);
    expect(page).toContain(`\n### ${alert}\n`);
  }
});

it('deploy/alerts.yaml is the file of the chart', () => {
  const link = path.join(checkoutRoot(), 'deploy/alerts.yaml');
  expect(existsSync(link)).toBe(true);
  expect(readFileSync(link, 'utf8')).toBe(read('recur/alerts.yaml'));
});

it.each([
  ['up{job=~"recur-.+"} == 0', ['up'], ['job']],
  ['topk(10, sum by (a, b) (rate(x_total{c!="d|e", f=~"g"}[5m]))) > 0.01', ['x_total'], ['c', 'f', 'a', 'b']],
  ['histogram_quantile(0.99, sum by (le) (rate(y_bucket[$__rate_interval])))\n  / z # none', ['y_bucket', 'z'], ['le']],
  ['label_values(w, job)', ['w'], ['job']],
])('the series of %s are found', (expression, metrics, labels) => {
  expect(selectedBy(expression)).toEqual({ metrics, labels });
});
