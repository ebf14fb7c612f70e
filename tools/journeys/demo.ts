import { isWhole, readFacts } from '../local/facts.js';
import { Failure, takesNoArguments } from '../local/failure.js';
import { openHome } from '../local/home.js';
import { say } from '../local/progress.js';
import { cardJourney } from './card.js';
import { firstJourney } from './first.js';
import { hostedJourney } from './hosted.js';
import { subscriptionJourney } from './subscription.js';
import { usageJourney } from './usage.js';

/** `npm run demo`: the first journey, a card payment, a subscription, metered usage and hosted pages against the running stack, step by step. */
export async function run(args: readonly string[]): Promise<number> {
  takesNoArguments('npm run demo', args);
  const home = openHome();
  const facts = readFacts(home);
  if (facts === undefined)
    throw new Failure('no stack of this checkout is running: start one with "npm start" or "npm run up".', 69);
  if (!isWhole(home)) throw new Failure('a part of the stack has ended: run "npm run down", then "npm run up".', 69);
  say(`The first journey, against ${facts.baseUrl}, through HTTP only.\n`);
  let step = 0;
  const next = (line: string) => say(`${String(++step).padStart(2)}. ${line}`);
  await firstJourney(facts.baseUrl, facts.apiKey, next);
  await cardJourney(facts.baseUrl, facts.apiKey, next);
  await subscriptionJourney(facts.baseUrl, facts.apiKey, next);
  await usageJourney(facts.baseUrl, facts.apiKey, next);
  await hostedJourney(facts.baseUrl, facts.apiKey, next);
  say(
    '\nDone. The API is described at the docs URL; the code of these journeys is tools/journeys/first.ts, card.ts, subscription.ts, usage.ts and hosted.ts.',
  );
  return 0;
}
