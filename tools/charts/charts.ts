import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Failure, takesNoArguments } from '../local/failure.js';
import { alertProblems, digestFile, findTool, inputDigest, render, renderedFile, variants } from './rendering.js';

const sources = {
  helm: 'helm.sh/helm/v3/cmd/helm@v3.22.0',
  promtool: 'github.com/prometheus/prometheus/cmd/promtool@v0.316.0',
} as const;

function tool(name: keyof typeof sources): string {
  const found = findTool(name);
  if (found === undefined) throw new Failure(`${name} is not found: install it, or "go install ${sources[name]}".`, 69);
  return found;
}

/** `npm run charts`: renders the chart with each values file into deploy/helm/rendered, and tests its alerts. */
export function run(words: readonly string[]): number {
  takesNoArguments('npm run charts', words);
  const [helm, promtool] = [tool('helm'), tool('promtool')];
  mkdirSync(path.dirname(digestFile), { recursive: true });
  for (const variant of variants) writeFileSync(renderedFile(variant), render(helm, variant));
  const problems = alertProblems(promtool);
  if (problems !== undefined) throw new Failure(problems);
  writeFileSync(digestFile, `${inputDigest()}\n`);
  console.log(`Rendered ${variants.join(' and ')} into deploy/helm/rendered; the tests of the alerts pass.`);
  return 0;
}
