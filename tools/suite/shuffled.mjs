import { createHash } from 'node:crypto';
import Sequencer from '@jest/test-sequencer';

/** Test files in an order that the run's seed decides. */
export default class Shuffled extends Sequencer {
  constructor(options) {
    super(options);
    this.seed = options.globalConfig.seed;
  }

  sort(tests) {
    const place = ({ path }) => createHash('sha256').update(`${this.seed} ${path}`).digest('hex');
    return [...tests].sort((a, b) => (place(a) < place(b) ? -1 : 1));
  }
}
