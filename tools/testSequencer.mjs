import { existsSync } from 'node:fs';
import Sequencer from '@jest/test-sequencer';

/**
 * Files that begin first, in this order: the longest of all, which keeps two processors busy by itself; then what mostly
 * waits for something to be given up or to come due; then what takes half a minute or more, for begun late it would leave
 * all but one processor idle at the end of a run.
 */
const first = [
  'tools/journeys/test/contract.test.ts',
  'tools/journeys/test/lives.test.ts',
  'apps/billing/test/subscriptions/change/pair-races.test.ts',
  'libs/platform/test/loss.test.ts',
  'libs/platform/test/events.test.ts',
  'libs/platform/test/silence.test.ts',
  'apps/notification/test/deliveries/sending/fairness.test.ts',
  'apps/gateway/test/callers/callers.test.ts',
  'apps/gateway/test/callers/members.test.ts',
  'apps/notification/test/deliveries/retention.test.ts',
  'apps/billing/test/invoices/model.test.ts',
  'tools/chaos/test/crashes.test.ts',
  'tools/chaos/test/kills.test.ts',
  'tools/chaos/test/year-kills.test.ts',
  'tools/journeys/test/spine.test.ts',
  'tools/journeys/test/together.test.ts',
  'tools/journeys/test/pages/looks.test.ts',
  'tools/journeys/test/pages/cuts.test.ts',
  'tools/journeys/test/pages/pages.test.ts',
  'tools/journeys/test/outages.test.ts',
];

/** These files first, then the others as jest would have them: without times of an earlier run, by their size. */
export default class FirstOnes extends Sequencer {
  sort(tests) {
    const gone = first.filter(file => !existsSync(new URL(`../${file}`, import.meta.url)));
    if (gone.length > 0) throw new Error(`tools/testSequencer.mjs names what is not there: ${gone.join(', ')}`);
    const placeOf = ({ path }) => {
      const at = first.findIndex(file => path.endsWith(file));
      return at < 0 ? first.length : at;
    };
    return [...super.sort(tests)].sort((a, b) => placeOf(a) - placeOf(b));
  }
}
