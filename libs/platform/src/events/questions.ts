import type { InternalOperation } from '@recur/contracts';
import type { z } from 'zod';
import type { Bus } from '../bus/bus.js';
import type { Caller } from '../runtime/caller.js';
import { askOwner } from './copies.js';

/**
 * Questions to other services that no copy answers, such as a count of their rows: those that the contracts let services ask
 * (`askedBy`). A handler asks before its transaction, never in it.
 */
export class Questions {
  constructor(private readonly bus: Pick<Bus, 'request'>) {}

  /** Throws Rejected `dependency_away` or `deadline_exceeded` (code 56) where there is no answer. */
  ask<Op extends InternalOperation>(
    operation: Op,
    input: z.input<Op['input']>,
    caller: Caller,
  ): Promise<z.output<Op['output']>> {
    return askOwner(this.bus, operation, input, caller);
  }
}
