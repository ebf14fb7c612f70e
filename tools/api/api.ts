import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { takesNoArguments } from '../local/failure.js';
import { say, step } from '../local/progress.js';
import { temporaryStack } from '../local/temporary.js';
import type { Outcome } from './check.js';
import { clients } from './clients.js';
import { lints } from './lints.js';

/**
 * `npm run api-test`: reads the OpenAPI document of a stack of its own with lints and generators of clients, those of
 * them that are installed or can be fetched, makes calls with the clients, and ends with what it did not run. Fails
 * where it could run nothing.
 */
export async function run(words: readonly string[]): Promise<number> {
  takesNoArguments('npm run api-test', words);
  const stack = await temporaryStack(say);
  try {
    const { baseUrl, apiKey } = stack.facts();
    const text = await (await fetch(`${baseUrl}/openapi.json`)).text();
    say(sizes(text));
    const outcomes: [string, Outcome][] = [];
    for (const { name, run: check } of [...lints, ...clients]) {
      const folder = path.join(stack.home.state, 'api-test', name);
      mkdirSync(folder, { recursive: true });
      const file = path.join(folder, 'openapi.json');
      writeFileSync(file, text);
      const outcome = await step(say, `run of ${name}`, () => check({ baseUrl, apiKey, folder, file }));
      if (outcome.kind !== 'absent') say(`    ${outcome.kind}: ${outcome.told}`);
      outcomes.push([name, outcome]);
    }
    for (const [name, { kind, told }] of outcomes) if (kind === 'absent') say(`not run: ${name}: ${told}.`);
    const kinds = outcomes.map(([, { kind }]) => kind);
    return kinds.includes('passed') && !kinds.includes('failed') ? 0 : 1;
  } finally {
    await stack.close();
  }
}

function sizes(text: string): string {
  const { paths, webhooks, components } = JSON.parse(text) as Record<'paths' | 'webhooks', object> & {
    components: { schemas: object };
  };
  const count = (one: object) => Object.keys(one).length;
  const parts = `${count(paths)} paths, ${count(webhooks)} webhooks, ${count(components.schemas)} schemas`;
  return `  ${(text.length / 1_000_000).toFixed(2)} MB: ${parts}`;
}
