import { Controller, Inject } from '@nestjs/common';
import { advanceTestClock, getTestClock, type In, type Out } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, CLOCK, type Clock, CONFIG, Db, Handle, type Reader } from '@recur/platform';
import type { Config } from '../config.js';
import { ADVANCE_WORK, ClockAdvance } from './advance.js';
import { advanceTarget, beginAdvance, clockAggregate, testClocks, unmoved } from './clock.js';

/** `answerMs`: a call waits this long for the end of its advance. */
const limits = { answerMs: 3_000, workerAfterSeconds: 5 } as const;

/** Operations on the clock of a sandbox's merchant. */
@Controller()
export class TestClocks {
  constructor(
    private readonly db: Db,
    private readonly advances: ClockAdvance,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Begins the advance, walks, and stores what it has come to as the answer. A repeat under its key goes on with it. */
  @Handle(advanceTestClock)
  async advance(input: In<typeof advanceTestClock>, caller: Caller) {
    this.assertSandbox();
    await this.db.replay(caller);
    const { idempotencyKey, ...asking } = caller;
    const askedBy = idempotencyKey ?? caller.requestId;
    await this.db.write(asking, async tx => {
      tx.onConflict('test_clocks_pkey', 'again');
      const before = (await tx.lockIfAny(clockAggregate, {})) ?? unmoved(tx.merchantId);
      if (before.askedBy === askedBy) return {};
      tx.save(testClocks, beginAdvance(before, advanceTarget(input, tx.now), askedBy));
      // after this call has ended, if it leaves anything
      tx.schedule(ADVANCE_WORK, '', Math.floor(this.clock.wall() / 1000) + limits.workerAfterSeconds);
      tx.log('TestClock', 'Advance');
      return {};
    });
    await this.advances.go(caller.merchantId, limits.answerMs);
    return this.db.write(caller, async tx => {
      const view = await clockView(tx);
      if (view.status === 'ready') tx.unschedule(ADVANCE_WORK, '');
      return view;
    });
  }

  @Handle(getTestClock)
  get(_: In<typeof getTestClock>, caller: Caller) {
    this.assertSandbox();
    return this.db.read(caller, clockView);
  }

  /** Where clocks do not move, these paths do not exist. */
  private assertSandbox(): void {
    if (this.config.RECUR_ENV !== 'sandbox') throw new Rejected('unknown_path');
  }
}

async function clockView(reader: Reader): Promise<Out<typeof getTestClock>> {
  const { offsetSeconds, advancing, done, target } = (await reader.find(testClocks, {})) ?? unmoved(reader.merchantId);
  return { now: reader.now, offset: offsetSeconds, status: advancing ? 'advancing' : 'ready', done, target };
}
