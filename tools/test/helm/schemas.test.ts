import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { digestFile, findTool, inputDigest, render, variants } from '../../charts/rendering.js';
import { composed, filledIn, readFiles } from '../deployment.js';
import { manifestsIn, manifestViolations, merged, read, valuesOf, violations } from './manifests.js';

const again = 'after a change of the chart or its values, run "npm run charts"';

describe.each(variants)('the chart, rendered for %s', variant => {
  const text = read(`rendered/${variant}.yaml`);

  it('fits the schemas of Kubernetes, KEDA and the Prometheus operator, which know no other field', () => {
    const all = manifestsIn(text);
    expect(all.length).toBeGreaterThan(20);
    expect(all.flatMap(manifestViolations)).toEqual([]);
  });

  it.each([
    ['  replicas: 1\n', '  replicas: one\n'],
    ['terminationGracePeriodSeconds:', 'terminationGracePeriod:'],
    ['automountServiceAccountToken: false', 'automountServiceAccountToken: "no"'],
    ['maxReplicaCount: 4', 'maxReplicas: 4'],
    ['threshold: "2000"', 'threshold: 2000'],
    ['interval: 30s', 'every: 30s'],
    ['averageUtilization: 60', 'average: 60'],
    ['policyTypes:', 'types:'],
    ['apiVersion: batch/v1', 'apiVersion: batch/v1beta1'],
  ])('is refused with %j written as %j', (from, to) => {
    const wrong = text.replace(from, () => to);
    const problems = manifestsIn(wrong).flatMap(manifestViolations);
    expect(problems.length > 0).toBe(wrong !== text);
  });

  it('fits the schema of its values', () => {
    expect(violations('recur/values.schema.json', valuesOf(variant))).toEqual([]);
  });

  it(`is what helm renders; ${again}`, () => {
    expect(readFileSync(digestFile, 'utf8')).toBe(`${inputDigest()}\n`);
    const helm = findTool('helm');
    if (helm !== undefined) expect(render(helm, variant)).toBe(text);
  });
});

describe('the schema of values', () => {
  it.each<[string, Record<string, unknown>]>([
    ['a misspelt setting', { apps: { billing: { env: { STORE_FATS: 'true' } } } }],
    ['a setting for tests', { apps: { billing: { env: { CRASH_AT: 'after-commit' } } } }],
    ['a secret in plain text', { apps: { billing: { env: { SECRET_KEYS: 'k1:AAAA' } } } }],
    ['an app that there is not', { apps: { ledger: {} } }],
    ['the tag latest', { image: { tag: 'latest' } }],
    ['a pool that is too small', { apps: { catalog: { pool: 2 } } }],
    ['plain http in production', { environment: 'production', baseUrl: 'http://billing.example.com' }],
    ['an Ingress without a certificate', { ingress: { tlsSecret: '' } }],
  ])('refuses %s', (_, wrong) => {
    expect(violations('recur/values.schema.json', merged(valuesOf('production'), wrong))).not.toEqual([]);
  });
});

describe('docker-compose.yml', () => {
  const files = readFiles();
  function problems(compose: string): string[] {
    const { services, volumes, networks } = composed({ ...files, compose }, filledIn(files));
    const plain = Object.entries(services).map(([name, { variables, ...service }]) => [name, service]);
    return violations('schemas/compose-spec.json', { services: Object.fromEntries(plain), volumes, networks });
  }

  it('fits the schema of the compose specification', () => {
    expect(problems(files.compose)).toEqual([]);
  });

  it.each([
    ['stop_grace_period: 45s', 'stop_grace_periods: 45s'],
    ['cap_drop: [ALL]', 'cap_drop: ALL'],
    ['start_interval: 1s', 'start_intervals: 1s'],
    ['condition: service_healthy', 'condition: service_ready'],
    ['internal: true', 'internals: true'],
  ])('is refused with %s written as %s', (from, to) => {
    expect(files.compose).toContain(from);
    expect(problems(files.compose.replace(from, () => to))).not.toEqual([]);
  });
});
