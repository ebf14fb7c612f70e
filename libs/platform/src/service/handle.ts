import { Ctx, MessagePattern, Payload } from '@nestjs/microservices';
import { type AnyOperation, type In, type Out, patternOf } from '@recur/contracts';
import type { Caller } from '../runtime/caller.js';

const handled = new WeakMap<object, AnyOperation>();

/**
 * Marks the method of a `@Controller()` that runs an operation: `(input, caller) => Promise<output>`. It is Nest's
 * `@MessagePattern('<service>.<name>')` with `@Payload()` and `@Ctx()` on its parameters, typed by the contract.
 */
export function Handle<Op extends AnyOperation>(operation: Op) {
  return <M extends (input: In<Op>, caller: Caller) => Promise<Out<Op>>>(
    prototype: object,
    name: string | symbol,
    method: TypedPropertyDescriptor<M>,
  ): void => {
    MessagePattern(patternOf(operation), { operation })(prototype, name, method);
    Payload()(prototype, name, 0);
    Ctx()(prototype, name, 1);
    if (method.value) handled.set(method.value, operation);
  };
}

/** The operations that a controller handles. */
export function operationsOf({ prototype }: { prototype: object }): AnyOperation[] {
  return Object.values(Object.getOwnPropertyDescriptors(prototype)).flatMap(({ value }) => {
    const operation = typeof value === 'function' ? handled.get(value) : undefined;
    return operation ? [operation] : [];
  });
}
