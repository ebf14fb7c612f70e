import { afterEach, describe, expect, it } from '@jest/globals';
import {
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  Catch,
  Controller,
  type ExecutionContext,
  ForbiddenException,
  Injectable,
  type NestInterceptor,
  type Provider,
  type RpcExceptionFilter,
  type Type,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { MessagePattern } from '@nestjs/microservices';
import { Rejected } from '@recur/kernel';
import { map, throwError } from 'rxjs';
import type { Caller } from '../src/runtime/caller.js';
import { type TestService, testService } from '../src/testing/index.js';
import { getThing, newThing, sample, Things } from './sample.js';

let t: TestService;
afterEach(() => t.close());

const start = async (...providers: Provider[]) => {
  t = await testService({ ...sample, providers });
};
const add = (name: string, merchantId = 15) => t.call(newThing, { name, size: 1 }, { merchantId });
const callerIn = (context: ExecutionContext) => context.switchToRpc().getContext<Caller>();

/** Lets merchant 15 call, and 16 do nothing; 17 is refused in words. */
@Injectable()
class Tenants implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { merchantId } = callerIn(context);
    if (merchantId === 17) throw new ForbiddenException('not today');
    return merchantId !== 16;
  }
}

class Unheard extends Error {}

/** Renames things in answers; a thing named `unheard` fails. */
@Injectable()
class Renaming implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler) {
    const { name } = context.switchToRpc().getData<{ name?: string }>();
    if (name === 'unheard') return throwError(() => new Unheard());
    if (context.getHandler() !== Things.prototype.get && name !== 'rename') return next.handle();
    return next.handle().pipe(map(({ thing }) => ({ thing: { ...thing, name: 'renamed' } })));
  }
}

@Catch(Unheard)
class UnheardFilter implements RpcExceptionFilter {
  catch(_error: Unheard, _host: ArgumentsHost) {
    return throwError(() => new Rejected('invalid_parameters', 'unheard of'));
  }
}

describe("Nest's own", () => {
  it('guards refuse: code 63, whether they answer false or throw', async () => {
    await start({ provide: APP_GUARD, useClass: Tenants });
    expect(await add('guarded')).toMatchObject({ ok: true });
    expect(await add('guarded', 16)).toMatchObject({ ok: false, slug: 'permission_denied' });
    expect(await add('guarded', 17)).toMatchObject({ ok: false, slug: 'permission_denied' });
    expect(await t.rows('select count(*)::int from things where merchant_id in (16, 17)')).toEqual([{ count: 0 }]);
  });

  it("interceptors change a read's answer; a write whose answer one changes fails, since a repeat would not get it", async () => {
    await start({ provide: APP_INTERCEPTOR, useClass: Renaming });
    const added = await t.done(newThing, { name: 'plain', size: 1 });
    expect(added.thing.name).toBe('plain');
    expect((await t.done(getThing, { id: added.thing.id })).thing.name).toBe('renamed');
    expect(await add('rename')).toMatchObject({ ok: false, slug: 'internal_error' });
  });

  it("filters of a service are asked before the platform's", async () => {
    await start({ provide: APP_FILTER, useClass: UnheardFilter }, { provide: APP_INTERCEPTOR, useClass: Renaming });
    expect(await add('unheard')).toMatchObject({ ok: false, slug: 'invalid_parameters', message: 'unheard of' });
    // a rejection and a repeat come through unchanged
    expect(await t.call(getThing, { id: 0 })).toMatchObject({ ok: false, slug: 'unknown_path' });
    const once = { idempotencyKey: 'once', requestId: 'first' };
    const first = await t.call(newThing, { name: 'twice', size: 1 }, once);
    expect(await t.call(newThing, { name: 'twice', size: 1 }, { idempotencyKey: 'once' })).toEqual({
      ...first,
      replayOf: 'first',
    });
  });
});

describe('the transport refuses', () => {
  const startWith = async (controller: Type) => {
    await start();
    return testService({ ...sample, controllers: [Things, controller] });
  };

  it('a second handler of an operation', async () => {
    @Controller()
    class More extends Things {}
    await expect(startWith(More)).rejects.toThrow('two handlers for catalog.thing.');
  });

  it('a handler without a contract', async () => {
    @Controller()
    class Loose {
      @MessagePattern('catalog.loose')
      run() {
        return {};
      }
    }
    await expect(startWith(Loose)).rejects.toThrow('the handler of catalog.loose has no contract: use @Handle');
  });
});
