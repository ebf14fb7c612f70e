import type { Stack } from '../local/control.js';
import type { App } from '../local/settings.js';

/** Does harm and mends it; resolves when the part is up again. Returns whether harm was really done. */
export type Fault = (stack: Stack) => Promise<boolean>;

const killed =
  (app: App): Fault =>
  async stack => {
    const hit = await stack.kill(app);
    await stack.start(app);
    return hit;
  };

const restarted =
  (app: App): Fault =>
  async stack => {
    await stack.restart(app);
    return true;
  };

/** The app ends at a named point as if by SIGKILL: the load is what takes it there. */
export const crashedAt =
  (app: App, point: string): Fault =>
  async stack => {
    await stack.stop(app);
    await stack.start(app, { CRASH_AT: point }).catch((error: Error) => {
      // the load may take it there before it has been seen to be ready
      if (!error.message.includes('(SIGKILL)')) throw error;
    });
    await stack.ended(app);
    await stack.start(app);
    return true;
  };

const dependencyKilled =
  (name: 'postgres' | 'nats' | 'redis'): Fault =>
  async stack => {
    const hit = await stack.kill(name);
    await stack.start(name);
    return hit;
  };

/** Redis is gone for a while: nobody rings, and what is due is found by the sweep. */
export const withoutRedis =
  (seconds: number): Fault =>
  async stack => {
    await stack.stop('redis');
    await new Promise(resolve => setTimeout(resolve, seconds * 1000));
    await stack.start('redis');
    return true;
  };

/** Everything that a chaos run does to a stack, by name. */
export const faults: Record<string, Fault> = {
  'SIGKILL of identity': killed('identity'),
  'SIGKILL of catalog': killed('catalog'),
  'SIGKILL of billing': killed('billing'),
  'SIGKILL of notification': killed('notification'),
  'SIGKILL of the gateway': killed('gateway'),
  'restart of identity': restarted('identity'),
  'restart of catalog': restarted('catalog'),
  'restart of billing': restarted('billing'),
  'restart of notification': restarted('notification'),
  'restart of the gateway': restarted('gateway'),
  'billing killed between commit and answer': crashedAt('billing', 'after-commit'),
  'billing killed between commit and publication': crashedAt('billing', 'before-publish'),
  'identity killed between commit and answer': crashedAt('identity', 'after-commit'),
  'identity killed between commit and publication': crashedAt('identity', 'before-publish'),
  'notification killed between POST and record': crashedAt('notification', 'after-post'),
  'SIGKILL of PostgreSQL': dependencyKilled('postgres'),
  'SIGKILL of NATS': dependencyKilled('nats'),
  'SIGKILL of Redis': dependencyKilled('redis'),
  'Redis away for a minute': withoutRedis(60),
  'JetStream wiped': async stack => {
    await stack.wipeJetStream();
    return true;
  },
  'Redis flushed': async stack => {
    await stack.flushRedis();
    return true;
  },
};

/** Numbers in [0, 1) that are the same for the same seed (mulberry32). */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** All faults in an order that the seed decides, again and again: none is left out by chance. */
export function* inTurn(next: () => number): Generator<string> {
  for (;;) {
    const names = Object.keys(faults);
    while (names.length > 0) yield names.splice(Math.floor(next() * names.length), 1)[0] as string;
  }
}
