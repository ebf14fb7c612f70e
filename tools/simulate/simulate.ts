import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type Client, createClient, orThrow } from '@recur/client';
import { webhookEventNames } from '@recur/contracts';
import { allDelivered, databases, settled } from '../journeys/oracle.js';
import { type Receiver, startReceiver } from '../journeys/receiver.js';
import { Failure } from '../local/failure.js';
import { checkoutRoot } from '../local/home.js';
import { type Say, say, sayOnStderr } from '../local/progress.js';
import { type TemporaryStack, temporaryStack } from '../local/temporary.js';
import { advanceTo, timeOf } from './clock.js';
import { type Scenario, scenarioOf, startOf } from './scenario.js';
import { perform } from './steps.js';
import { type Entry, eventEntries, invoiceEntries, mailEntries, printed } from './timeline.js';
import { openWorld } from './world.js';

/** `npm run simulate -- scenario.yaml`: a merchant's time on a stack of its own, printed as a timeline. */
export async function run(args: readonly string[]): Promise<number> {
  const scenario = scenarioOf(readFileSync(fileOf(args), 'utf8'));
  const stack = await temporaryStack(sayOnStderr);
  const receiver = await startReceiver();
  try {
    say(printed(await simulated(stack, receiver, scenario, sayOnStderr)));
    return 0;
  } finally {
    await receiver.close();
    await stack.close();
  }
}

/** The file that is named, else the scenario of that name in the repository. Throws Failure (64) for neither. */
export function fileOf([named = '', ...others]: readonly string[]): string {
  const folder = path.join(checkoutRoot(), 'tools/simulate/scenarios');
  const own = readdirSync(folder).filter(file => file.endsWith('.yaml'));
  const names = own.map(file => file.slice(0, -'.yaml'.length)).join(', ');
  if (named === '' || others.length > 0) {
    throw new Failure(`npm run simulate takes a scenario: ${names}, or a YAML file of your own.`, 64);
  }
  if (existsSync(named)) return named;
  if (own.includes(`${named}.yaml`)) return path.join(folder, `${named}.yaml`);
  throw new Failure(
    `there is no scenario ${named}, and no file of that name: take ${names}, or a YAML file of your own.`,
    64,
  );
}

/** Runs a scenario as a new merchant of a stack, and returns everything that happened, steps included. */
export async function simulated(
  stack: TemporaryStack,
  receiver: Receiver,
  scenario: Scenario,
  tell: Say,
): Promise<Entry[]> {
  const { apiKey } = await stack.merchant(scenario.title);
  const api = createClient({ baseUrl: stack.facts().baseUrl, credential: apiKey });
  orThrow(await api.post('/merchant/webhook/new_endpoint', { url: receiver.url, events: [...webhookEventNames] }));
  const steps = await lived(api, scenario, tell);
  const { ask, close } = databases(stack.facts());
  await settled(ask, allDelivered).finally(close);
  return [...steps, ...(await invoiceEntries(api)), ...eventEntries(receiver.deliveries), ...(await mailEntries(api))];
}

/** Lives through a scenario as a merchant to its end, and returns its steps. */
export async function lived(api: Client, scenario: Scenario, tell: Say): Promise<Entry[]> {
  if (scenario.start) await advanceTo(api, startOf(scenario.start));
  const start = await timeOf(api);
  const world = await openWorld(api, scenario);
  const steps: Entry[] = [];
  for (const step of scenario.steps) {
    await advanceTo(api, start + step.at);
    const line = await perform(world, step);
    tell(`  · day ${Math.floor(step.at / 86_400)}: ${line}`);
    steps.push({ at: await timeOf(api), rank: 1, line: `— ${line}` });
  }
  await advanceTo(api, start + scenario.until);
  return steps;
}
