import { existsSync } from 'node:fs';
import Sequencer from '@jest/test-sequencer';

/** What takes half a minute or more, longest first: begun late, it would leave all but one processor idle at the end of a run. */
const long = [
  'tools/journeys/test/contract.test.ts',
  'apps/billing/test/model.test.ts',
  'tools/chaos/test/crashes.test.ts',
  'tools/journeys/test/spine.test.ts',
  'tools/journeys/test/together.test.ts',
  'tools/journeys/test/outages.test.ts',
];

/** The long files first, then the others as jest would have them: without times of an earlier run, by their size. */
export default class LongFirst extends Sequencer {
  sort(tests) {
    const gone = long.filter(file => !existsSync(new URL(`../${file}`, import.meta.url)));
    if (gone.length > 0) throw new Error(`tools/testSequencer.mjs names what is not there: ${gone.join(', ')}`);
    const placeOf = ({ path }) => {
      const at = long.findIndex(file => path.endsWith(file));
      return at < 0 ? long.length : at;
    };
    return [...super.sort(tests)].sort((a, b) => placeOf(a) - placeOf(b));
  }
}
