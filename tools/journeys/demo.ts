import { isWhole, readFacts } from '../local/facts.js';
import { Failure, takesNoArguments } from '../local/failure.js';
import { openHome } from '../local/home.js';
import { say } from '../local/progress.js';
import { firstJourney } from './first.js';

/** `npm run demo`: runs the first journey against the running stack and prints each step. */
export async function run(args: readonly string[]): Promise<number> {
  takesNoArguments('npm run demo', args);
  const home = openHome();
  const facts = readFacts(home);
  if (facts === undefined)
    throw new Failure('no stack of this checkout is running: start one with "npm start" or "npm run up".', 69);
  if (!isWhole(home)) throw new Failure('a part of the stack has ended: run "npm run down", then "npm run up".', 69);
  say(`The first journey, against ${facts.baseUrl}, through HTTP only.\n`);
  let step = 0;
  await firstJourney(facts.baseUrl, facts.apiKey, line => say(`${String(++step).padStart(2)}. ${line}`));
  say('\nDone. The API is described at the docs URL; the code of this journey is tools/journeys/first.ts.');
  return 0;
}
