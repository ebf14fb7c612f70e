import { z } from 'zod';
import { integer, seconds, text, time } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';

/** The most that one call moves a clock: ten years, leap days included. */
export const clockLimits = { advanceSeconds: 3_653 * 86_400 } as const;

/** A merchant's clock, of a sandbox. */
const TestClock = z.object({
  now: time.describe("The merchant's time, unix seconds"),
  offset: seconds.describe("How far the merchant's clock is ahead of the machine's, in seconds"),
  status: text.describe('ready, or advancing: due work is still being done on the way to the target'),
  done: integer.describe('Items of due work that the last advance has come to'),
  target: time.describe('The time to which the last advance goes, unix seconds; 0: the clock was never moved'),
});

/** A step of a merchant's clock: what services that follow it need to know. */
export const ClockMoved = z.object({
  now: time.describe("The merchant's time, unix seconds"),
  offset: seconds.describe("How far the merchant's clock is ahead of the machine's, in seconds"),
});
export type ClockMoved = z.output<typeof ClockMoved>;

export const advanceTestClock = operation({
  service: 'billing',
  name: 'clock.advance',
  methods: ['POST'],
  path: '/merchant/test_clock/advance',
  summary: "Move the merchant's clock forward through everything that falls due; sandbox only",
  effect: 'write',
  permission: 'configuration.write',
  input: input.rule(
    z.object({
      seconds: z.int().min(0).max(clockLimits.advanceSeconds).optional().describe('How far, at most ten years'),
      to: z.int().min(0).optional().describe('Unix second to move to, at most ten years ahead'),
    }),
    'must have either seconds or to',
    ({ seconds: far, to }) => (far === undefined) !== (to === undefined),
  ),
  output: TestClock,
  errors: ['unknown_path', 'clock_advancing'],
});

export const getTestClock = operation({
  service: 'billing',
  name: 'clock.get',
  methods: ['GET'],
  path: '/merchant/test_clock',
  summary: "The time on the merchant's clock, and how far an advance of it has come; sandbox only",
  effect: 'read',
  permission: 'configuration.read',
  input: z.object({}),
  output: TestClock,
  errors: ['unknown_path'],
});
