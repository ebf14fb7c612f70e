import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { checkoutRoot } from '../local/home.js';

/** The values files that are rendered and committed, and the version of Kubernetes whose schemas are beside them. */
export const variants = ['production', 'sandbox'] as const;
export type Variant = (typeof variants)[number];
export const KUBERNETES = '1.37.0';

const folder = path.join(checkoutRoot(), 'deploy/helm');
export const renderedFile = (variant: Variant) => path.join(folder, `rendered/${variant}.yaml`);
export const digestFile = path.join(folder, 'rendered/inputs.sha256');

/** A tool on PATH, or where `go install` puts it; undefined if there is none. */
export function findTool(name: 'helm' | 'promtool'): string | undefined {
  const places = [name, ...(process.env.HOME ? [path.join(process.env.HOME, 'go/bin', name)] : [])];
  return places.find(place => spawnSync(place, ['--help'], { stdio: 'ignore' }).status === 0);
}

/** The output of promtool for the unit tests of the alerts; undefined when they pass. */
export function alertProblems(promtool: string): string | undefined {
  const words = ['test', 'rules', 'alerts.test.yaml'];
  const { status, stdout, stderr } = spawnSync(promtool, words, { cwd: folder, encoding: 'utf8' });
  return status === 0 ? undefined : stdout + stderr;
}

/** The manifests of a variant. Throws with helm's message when the chart or its values are wrong. */
export function render(helm: string, variant: Variant, settings: readonly string[] = []): string {
  const words = ['template', 'recur', 'recur', '--namespace=recur', `--kube-version=${KUBERNETES}`];
  const values = [`--values=values-${variant}.yaml`, ...settings.map(setting => `--set=${setting}`)];
  const { status, stdout, stderr } = spawnSync(helm, [...words, ...values], { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

/**
 * Digest of the chart, the values files and the tests of the alerts: tells whether the committed manifests are of this
 * chart and its alerts were tested, where helm and promtool are not.
 */
export function inputDigest(): string {
  const digest = createHash('sha256');
  const chart = readdirSync(path.join(folder, 'recur'), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => path.relative(folder, path.join(entry.parentPath, entry.name)));
  const beside = ['alerts.test.yaml', ...variants.map(variant => `values-${variant}.yaml`)];
  for (const file of [...chart, ...beside].sort()) {
    digest.update(`${file}\n`).update(readFileSync(path.join(folder, file)));
  }
  return digest.digest('hex');
}
