import type { SandboxState } from './sandbox-tables.js';

/** The effects of charging a test payment method. Times are in seconds after the charge. */
export interface Scenario {
  state: SandboxState;
  /** The charge's answer is lost, before or after it is made. */
  timesOut?: 'before' | 'after';
  /** How long the sandbox keeps the outcome to itself. */
  tellAfterSeconds?: number;
  /** The callbacks: what they report, and when. A number is the report's id: the same one twice is a repeat. */
  callbacks: readonly ScenarioCallback[];
}

export interface ScenarioCallback {
  report: number;
  afterSeconds: number;
  says: 'outcome' | 'pending' | 'disputeOpen' | 'disputeWon' | 'disputeLost';
}

const hour = 3_600;
const day = 24 * hour;
const once: ScenarioCallback = { report: 1, afterSeconds: 0, says: 'outcome' };
const dispute = (end: 'disputeWon' | 'disputeLost'): readonly ScenarioCallback[] => [
  once,
  { report: 2, afterSeconds: day, says: 'disputeOpen' },
  { report: 3, afterSeconds: 8 * day, says: end },
];

/** The test payment methods of the sandbox gateway, by name. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  succeeds: { state: 'succeeded', callbacks: [once] },
  declines_softly: { state: 'soft', callbacks: [once] },
  declines_hard: { state: 'hard', callbacks: [once] },
  needs_action: { state: 'needsAction', callbacks: [] },
  times_out_after_charging: { state: 'succeeded', timesOut: 'after', callbacks: [] },
  times_out_before_charging: { state: 'succeeded', timesOut: 'before', callbacks: [] },
  calls_back_twice: { state: 'succeeded', callbacks: [once, once] },
  calls_back_late: {
    state: 'succeeded',
    tellAfterSeconds: hour,
    callbacks: [{ report: 1, afterSeconds: hour, says: 'outcome' }],
  },
  calls_back_out_of_order: {
    state: 'succeeded',
    callbacks: [
      { report: 2, afterSeconds: 0, says: 'outcome' },
      { report: 1, afterSeconds: 0, says: 'pending' },
    ],
  },
  disputed_and_won: { state: 'succeeded', callbacks: dispute('disputeWon') },
  disputed_and_lost: { state: 'succeeded', callbacks: dispute('disputeLost') },
};

/** The scenario of a payment method; a method of an unknown one declines for good. */
export const scenarioOf = (name: string): Scenario =>
  (Object.hasOwn(scenarios, name) ? scenarios[name] : undefined) ?? { state: 'hard', callbacks: [once] };
