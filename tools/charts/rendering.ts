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

/** The helm on PATH, or where `go install` puts it; undefined if there is none. */
export function findHelm(): string | undefined {
  const places = ['helm', ...(process.env.HOME ? [path.join(process.env.HOME, 'go/bin/helm')] : [])];
  return places.find(place => spawnSync(place, ['version'], { stdio: 'ignore' }).status === 0);
}

/** The manifests of a variant. Throws with helm's message when the chart or its values are wrong. */
export function render(helm: string, variant: Variant, settings: readonly string[] = []): string {
  const words = ['template', 'recur', 'recur', '--namespace=recur', `--kube-version=${KUBERNETES}`];
  const values = [`--values=values-${variant}.yaml`, ...settings.map(setting => `--set=${setting}`)];
  const { status, stdout, stderr } = spawnSync(helm, [...words, ...values], { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

/** Digest of the chart and the values files: tells whether the committed manifests are of this chart where helm is not. */
export function inputDigest(): string {
  const digest = createHash('sha256');
  const chart = readdirSync(path.join(folder, 'recur'), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => path.relative(folder, path.join(entry.parentPath, entry.name)));
  for (const file of [...chart, ...variants.map(variant => `values-${variant}.yaml`)].sort()) {
    digest.update(`${file}\n`).update(readFileSync(path.join(folder, file)));
  }
  return digest.digest('hex');
}
