import { oncePerTurn } from '../../runtime/turns.js';
import { failureFor } from './attempts.js';
import { type CommandRuns, type GroupOutcome, type Member, Undone } from './command-runs.js';

/** `together`: commands in one transaction. `atOnce`: transactions of one merchant and kind. */
const limits = { together: 50, atOnce: 2 } as const;

interface Waiting {
  member: Member;
  resolve(answer: object): void;
  reject(error: unknown): void;
}

/** Commands of one merchant and kind that wait, and how many transactions of theirs are under way. */
interface Arrivals {
  waiting: Waiting[];
  underway: number;
}

/**
 * Groups commands of one merchant and kind: those that arrive in one turn, or while a transaction of theirs is under way,
 * share the next one. When a group fails, its commands run by themselves.
 */
export class JoinedCommands {
  private readonly lanes = new Map<string, Arrivals>();
  private readonly nextSoon = oncePerTurn(() => this.next());

  constructor(private readonly runs: CommandRuns) {}

  /** An attempt of one command, with others. */
  take(kind: string, member: Member): Promise<object> {
    const key = `${member.caller.merchantId} ${kind}`;
    const lane = this.lanes.get(key) ?? { waiting: [], underway: 0 };
    this.lanes.set(key, lane);
    return new Promise((resolve, reject) => {
      lane.waiting.push({ member, resolve, reject });
      this.nextSoon();
    });
  }

  private next(): void {
    for (const [key, lane] of this.lanes) {
      if (lane.underway + lane.waiting.length === 0) this.lanes.delete(key);
      if (lane.underway === limits.atOnce || lane.waiting.length === 0) continue;
      lane.underway++;
      void this.run(lane.waiting.splice(0, limits.together)).finally(() => {
        lane.underway--;
        this.nextSoon();
      });
    }
  }

  /** Resolves when the next group may begin; never rejects: every command is resolved or rejected. */
  private async run(group: readonly Waiting[]): Promise<void> {
    const [first] = group;
    if (group.length === 1 && first) return this.alone(first);
    try {
      void answer(group, await this.runs.group(group.map(({ member }) => member)));
    } catch (error) {
      if (error instanceof Undone) await Promise.all(group.map(each => this.alone(each)));
      // committed, or nobody knows: running again here could commit twice
      else for (const { member, reject } of group) reject(failureFor(error, member.caller));
    }
  }

  /** Resolves when the transaction is over, which may be before the answer. */
  private alone({ member: { caller, run, refreshed }, resolve, reject }: Waiting): Promise<void> {
    return new Promise(ended => {
      const answered = this.runs.transaction(caller, run, refreshed, ended);
      void answered.then(resolve, reject).finally(ended);
    });
  }
}

async function answer(group: readonly Waiting[], { results, seen }: GroupOutcome): Promise<void> {
  await seen;
  for (const [at, { resolve, reject }] of group.entries()) {
    const result = results[at] as PromiseSettledResult<object>;
    if (result.status === 'fulfilled') resolve(result.value);
    else reject(result.reason);
  }
}
