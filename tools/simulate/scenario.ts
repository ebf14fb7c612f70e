import { parse } from 'yaml';
import { z } from 'zod';
import { Failure } from '../local/failure.js';

/** Body of a request, which is sent as it stands: see docs/api-reference.md for its fields. */
const body = z.record(z.string(), z.unknown());
const name = z.string().min(1).max(64);

/** Duration such as `12h`, `90d` or `2w`, in seconds. */
const span = z
  .string()
  .regex(/^\d{1,5}[hdw]$/, 'must be a whole number of hours, days or weeks, such as 12h, 90d or 2w')
  .transform(secondsOf);

/** Names for which a step has ids are written as `$name`. */
const step = z.strictObject({
  at: span,
  user: name,
  /** Outcome of the user's card from now on; see the scenarios of the sandbox gateway. */
  card: name.optional(),
  subscribe: body.optional(),
  change: body.optional(),
  endAtPeriodEnd: body.optional(),
  keep: body.optional(),
  cancel: body.optional(),
  extendTrial: body.optional(),
  dueDay: body.optional(),
  renew: body.optional(),
  addon: body.optional(),
  usage: body.optional(),
  /** The time of the usage, where it arrives late. */
  happened: span.optional(),
  /** Deletes usage. */
  forget: body.optional(),
  refuses: z.string().optional(),
});
export type Step = z.output<typeof step>;

const scenario = z.strictObject({
  title: z.string().min(1),
  /** The day on which it begins, in the future; as on the machine's clock unless it is given. */
  start: z.iso.date().optional(),
  metrics: z.record(name, body).default({}),
  plans: z.record(name, body),
  users: z.record(name, z.strictObject({ card: name.default('succeeds'), profile: body.default({}) })),
  discounts: z.record(name, body).default({}),
  config: body.default({}),
  steps: z.array(step).min(1).max(1000),
  until: span,
});
export type Scenario = z.output<typeof scenario>;

/** The action of a step: exactly one of these. */
export const actions = [
  ...(['card', 'subscribe', 'change', 'endAtPeriodEnd', 'keep', 'cancel', 'extendTrial'] as const),
  ...(['dueDay', 'renew', 'addon', 'usage', 'forget'] as const),
] as const;
export type Action = (typeof actions)[number];

/** A scenario from YAML, as at a time in milliseconds. Throws Failure (64) that names everything that is wrong with it. */
export function scenarioOf(text: string, now = Date.now()): Scenario {
  const { data, error } = scenario.safeParse(yamlOf(text));
  const problems = error
    ? error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
    : [...wrongStart(data, now), ...wrongIn(data)];
  if (data && problems.length === 0) return { ...data, steps: data.steps.toSorted((a, b) => a.at - b.at) };
  throw new Failure(`the scenario cannot be used:\n${problems.map(problem => `  ${problem}`).join('\n')}`, 64);
}

function yamlOf(text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new Failure(`the scenario is not YAML: ${(error as Error).message}`, 64);
  }
}

/** A clock is never put back, so a start that has passed would be now. */
function wrongStart({ start }: Scenario, now: number): string[] {
  if (start === undefined || startOf(start) * 1000 > now) return [];
  const today = new Date(now).toISOString().slice(0, 10);
  return [`start: must be in the future, a day after ${today} (UTC), and is ${start}`];
}

/** The first second of the day on which a scenario begins, in UTC. */
export const startOf = (start: string): number => Date.parse(start) / 1000;

function wrongIn({ users, steps, until }: Scenario): string[] {
  return steps.flatMap((each, at) => {
    const given = actions.filter(action => each[action] !== undefined);
    return [
      ...(given.length === 1 ? [] : [`steps.${at}: must have one of ${actions.join(', ')}`]),
      ...(each.user in users ? [] : [`steps.${at}.user: there is no user ${each.user}`]),
      ...(each.at <= until ? [] : [`steps.${at}.at: is after the end`]),
      ...(each.happened === undefined || (each.usage && each.happened <= each.at)
        ? []
        : [`steps.${at}.happened: must be the time of usage, and not after the step`]),
    ];
  });
}

/** The one action of a step. */
export const actionOf = (each: Step): Action => actions.find(action => each[action] !== undefined) ?? 'card';

function secondsOf(text: string): number {
  const unit = { h: 3_600, d: 86_400, w: 604_800 }[text.slice(-1)] ?? 0;
  return Number(text.slice(0, -1)) * unit;
}
