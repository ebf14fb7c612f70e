import { Controller } from '@nestjs/common';
import {
  batchUsageEvents,
  deleteUsageEvent,
  errors,
  type In,
  ingestUsageEvents,
  membersIn,
  newUsageEvent,
  spelled,
  UsageEventInput,
  validate,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, CommittedRejection, Db, giveWay, Handle, type Tx } from '@recur/platform';
import { UsageDeletions } from './deletions.js';
import { EventViews, newEventView } from './event-list.js';
import { Partitions } from './keys.js';
import { UsageQueue, withoutKey } from './queue.js';
import { type RecordingOutcome, UsageRecorder } from './recorder.js';
import { type Incoming, resolve } from './resolve.js';

/** `part`: lines that are recorded in one transaction, between which other commands have their turn. */
const limits = { refusedLines: 1_000, part: 250, depth: 64, members: 2_000 } as const;

/** Commands of usage events. */
@Controller()
export class UsageEvents {
  constructor(
    private readonly db: Db,
    private readonly queue: UsageQueue,
    private readonly recorder: UsageRecorder,
    private readonly partitions: Partitions,
    private readonly deletions: UsageDeletions,
    private readonly views: EventViews,
  ) {}

  /** Without an idempotency key the event shares a transaction with others, since its own id recognises a repeat. */
  @Handle(newUsageEvent)
  async create(input: In<typeof newUsageEvent>, caller: Caller) {
    // the metric or the user may be gone since the answer that is repeated
    await this.db.replay(caller);
    if (caller.idempotencyKey === undefined) {
      const outcome =
        (await this.queue.take(caller, input)) ??
        (await this.queue.take(caller, await resolvedEvent(this.db, caller, input)));
      if (outcome instanceof Rejected) throw outcome;
      const { event, assigned } = outcome;
      const merchantMetricEvent = assigned
        ? newEventView({ event, assigned })
        : await this.db.read(caller, reader => this.views.of(reader, event));
      return this.db.append(caller, async () => ({ merchantMetricEvent }));
    }
    const incoming = await resolvedEvent(this.db, caller, input);
    await this.partitions.ensureFor(caller, [incoming]);
    return this.db.write(caller, async tx => {
      const [outcome] = await this.recorder.record(tx, [incoming]);
      if (!outcome) throw new Rejected('internal_error');
      // the upgrade that a refusal may ask for is committed
      if (outcome instanceof Rejected) throw new CommittedRejection(outcome);
      const { event, assigned } = outcome;
      return { merchantMetricEvent: assigned ? newEventView({ event, assigned }) : await this.views.of(tx, event) };
    });
  }

  @Handle(batchUsageEvents)
  async batch({ events }: In<typeof batchUsageEvents>, caller: Caller) {
    const resolved = await resolve(this.db, caller, events);
    await this.partitions.ensureFor(caller, resolved.filter(isIncoming));
    return this.db.write(caller, async tx => {
      const outcomes = await this.outcomes(tx, resolved);
      return { results: outcomes.map((outcome, at) => resultOf(events[at] as UsageEventInput, outcome)) };
    });
  }

  @Handle(ingestUsageEvents)
  async ingest({ lines }: In<typeof ingestUsageEvents>, caller: Caller) {
    await this.db.replay(caller);
    const { events, refused } = await eventLines(lines);
    const system = withoutKey(caller);
    let accepted = 0;
    for (let from = 0; from < events.length; from += limits.part) {
      const part = events.slice(from, from + limits.part);
      const resolved = await resolve(
        this.db,
        system,
        part.map(({ event }) => event),
      );
      await this.partitions.ensureFor(system, resolved.filter(isIncoming));
      const outcomes: RecordingOutcome[] = [];
      await this.db.write(system, async tx => {
        outcomes.splice(0, outcomes.length, ...(await this.outcomes(tx, resolved)));
        return {};
      });
      for (const [at, outcome] of outcomes.entries()) {
        if (outcome instanceof Rejected) refused.push({ line: part[at]?.line ?? 0, ...failureOf(outcome) });
        else accepted++;
      }
    }
    const first = refused.sort((one, other) => one.line - other.line).slice(0, limits.refusedLines);
    return this.db.append(caller, async () => ({ accepted, refused: first }));
  }

  @Handle(deleteUsageEvent)
  remove(input: In<typeof deleteUsageEvent>, caller: Caller) {
    return this.db.write(caller, async tx => {
      await this.deletions.remove(tx, input);
      return {};
    });
  }

  private async outcomes(tx: Tx, resolved: readonly (Incoming | Rejected)[]): Promise<RecordingOutcome[]> {
    const recorded = await this.recorder.record(tx, resolved.filter(isIncoming));
    let at = 0;
    return resolved.map(each => (each instanceof Rejected ? each : (recorded[at++] as RecordingOutcome)));
  }
}

/** An event with its user and metric. Throws Rejected. */
async function resolvedEvent(db: Db, caller: Caller, input: UsageEventInput): Promise<Incoming> {
  const [incoming] = await resolve(db, caller, [input]);
  if (!incoming || incoming instanceof Rejected) throw incoming ?? new Rejected('internal_error');
  return incoming;
}

const isIncoming = (each: Incoming | Rejected): each is Incoming => !(each instanceof Rejected);

function resultOf({ externalEventId }: UsageEventInput, outcome: RecordingOutcome) {
  if (outcome instanceof Rejected) return { externalEventId, ...failureOf(outcome), id: 0 };
  return { externalEventId, code: 0, message: '', id: outcome.event.id };
}

/** A refusal as the envelope would show it. */
function failureOf({ slug, message: own, issues }: Rejected): { code: number; message: string } {
  const { code, message } = errors[slug];
  const [issue] = issues;
  const because = issue && `${issue.path.slice(1)} ${issue.message}`;
  return { code, message: own || because || message };
}

export interface EventLine {
  /** From 1. */
  line: number;
  event: UsageEventInput;
}
export interface RefusedLine {
  line: number;
  code: number;
  message: string;
}

/** Nesting and members of a line, and the refused lines that are told. */
/** Lines are read in parts of so many characters, and then others have their turn. A line costs some of its own. */
const turn = { chars: 16_384, perLine: 100 } as const;

/**
 * The events of an NDJSON text, a line each, and the first 1000 lines that are none. Blank lines count, and are skipped.
 * The work gives way to other commands every few milliseconds.
 */
export async function eventLines(text: string): Promise<{ events: EventLine[]; refused: RefusedLine[] }> {
  const events: EventLine[] = [];
  const refused: RefusedLine[] = [];
  let spent = 0;
  for (const [at, json] of text.split('\n').entries()) {
    spent += json.length + turn.perLine;
    if (spent > turn.chars) {
      spent = 0;
      await giveWay();
    }
    if (json.trim() === '') continue;
    const line = at + 1;
    const value = valueIn(json);
    // without the messages of a refusal, which take longer than the check
    const checked = value === undefined ? undefined : UsageEventInput.safeParse(spelled(UsageEventInput, value));
    if (checked?.success) events.push({ line, event: checked.data });
    else if (refused.length < limits.refusedLines) refused.push({ line, ...lineRefusal(value) });
  }
  return { events, refused };
}

/** The reason why a line is refused; `value` is undefined where it is no JSON. */
function lineRefusal(value: unknown): Omit<RefusedLine, 'line'> {
  if (value === undefined) return { code: errors.malformed_json.code, message: 'The line is not valid JSON' };
  const checked = validate(UsageEventInput, value);
  const message = checked.ok ? undefined : checked.issues[0]?.message;
  return { code: errors.invalid_parameters.code, message: message ?? errors.invalid_parameters.message };
}

/** The value of a line; undefined where it is no JSON, or too deep or long for code that looks at each of its members. */
function valueIn(json: string): unknown {
  if (typeof membersIn(json, limits) === 'string') return undefined;
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
