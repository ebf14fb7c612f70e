import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Failure, takesNoArguments } from '../local/failure.js';
import { digestFile, findHelm, inputDigest, render, renderedFile, variants } from './rendering.js';

/** `npm run charts`: renders the chart with each values file into deploy/helm/rendered. */
export function run(words: readonly string[]): number {
  takesNoArguments('npm run charts', words);
  const helm = findHelm();
  if (helm === undefined) {
    throw new Failure('helm is not found: install it, or "go install helm.sh/helm/v3/cmd/helm@v3.22.0".', 69);
  }
  mkdirSync(path.dirname(digestFile), { recursive: true });
  for (const variant of variants) writeFileSync(renderedFile(variant), render(helm, variant));
  writeFileSync(digestFile, `${inputDigest()}\n`);
  console.log(`Rendered ${variants.join(' and ')} into deploy/helm/rendered.`);
  return 0;
}
