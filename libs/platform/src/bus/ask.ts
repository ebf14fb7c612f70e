import { type AnyOperation, type InternalOperation, subjectOf, validate } from '@recur/contracts';
import type { z } from 'zod';
import type { Caller } from '../runtime/caller.js';
import type { Bus } from './bus.js';
import { rejectionIn, textOf } from './message.js';

type Input<Op extends AnyOperation> = z.input<Op['input']>;
type Output<Op extends AnyOperation> = z.output<Op['output']>;

/**
 * Asks another service an internal operation within the caller's deadline, and answers its validated output. Throws
 * Rejected: the service's own refusal, `dependency_away` or `deadline_exceeded`; an Error for an output that does not
 * fit the contract.
 */
export async function ask<Op extends InternalOperation>(
  bus: Pick<Bus, 'request'>,
  operation: Op,
  input: Input<Op>,
  caller: Caller,
): Promise<Output<Op>> {
  const reply = await bus.request(subjectOf(operation), JSON.stringify(input), {
    ...caller,
    idempotencyKey: undefined,
  });
  if (!reply.ok) throw rejectionIn(reply);
  const { bytes } = reply;
  const output = validate(operation.output, JSON.parse(typeof bytes === 'string' ? bytes : textOf(bytes)));
  if (output.ok) return output.value as Output<Op>;
  throw new Error(`${subjectOf(operation)} was answered with ${JSON.stringify(output.issues.slice(0, 3))}`);
}
