import { expect, it } from '@jest/globals';
import { subscriptionStatus } from '@recur/contracts';
import {
  endedStatuses,
  hasEnded,
  isLive,
  liveStatuses,
  subscriptionLifecycle,
  unpaidStatuses,
} from '../../../src/subscriptions/domain/subscription.js';

it('has the states of the codes', () => {
  expect([...subscriptionLifecycle.states].sort()).toEqual(Object.keys(subscriptionStatus).sort());
});

it('allows these moves and no others', () => {
  const { states, moves, next } = subscriptionLifecycle;
  const allowed = states.map(state => [state, moves.filter(move => next(state, move)).map(move => next(state, move))]);
  expect(Object.fromEntries(allowed)).toEqual({
    init: ['pending', 'active', 'incomplete', 'cancelled', 'failed'],
    pending: ['active', 'incomplete', 'cancelled', 'failed', 'processing'],
    active: ['incomplete', 'cancelled', 'active', 'active', 'expired'],
    processing: ['active', 'incomplete', 'cancelled', 'failed', 'pending'],
    incomplete: ['active', 'incomplete', 'cancelled', 'failed', 'incomplete', 'expired'],
    cancelled: [],
    expired: [],
    failed: [],
  });
});

it('has every state as live, unpaid or ended', () => {
  const all = [...liveStatuses, ...unpaidStatuses, ...endedStatuses];
  expect(all.sort()).toEqual([...subscriptionLifecycle.states].sort());
  expect([isLive('active'), isLive('pending'), hasEnded('failed'), hasEnded('active')]).toEqual([
    true,
    false,
    true,
    false,
  ]);
});
