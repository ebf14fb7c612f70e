import { describe, expect, it } from '@jest/globals';
import { webhookEventNames } from '../src/event-names.js';
import { EventEnvelope, eventSubject, events, optAccountTypeOf } from '../src/events.js';

describe('events', () => {
  it('that go out are those of the fixed list, and an internal one never has such a name', () => {
    for (const [name, event] of Object.entries(events)) {
      expect([name, event.webhook]).toEqual([name, webhookEventNames.some(known => known === name)]);
    }
  });

  it('are listed in a fixed order', () => {
    expect(webhookEventNames).toEqual([
      'subscription.created',
      'subscription.activated',
      'subscription.updated',
      'subscription.auto_renew.success',
      'subscription.auto_renew.failure',
      'subscription.cancelled',
      'subscription.end.of.this.cycle',
      'subscription.resume.end.of.this.cycle',
      'subscription.track',
      'subscription.track.willcancel',
      'subscription.track.user.outofsubscribe',
      'subscription.expired',
      'subscription.failed',
      'subscription.pending_update.create',
      'subscription.pending_update.success',
      'subscription.pending_update.cancelled',
      'subscription.onetime_addon.created',
      'subscription.onetime_addon.success',
      'subscription.onetime_addon.cancelled',
      'subscription.onetime_addon.expired',
      'subscription.price_change_notice',
      'subscription.imported',
      'user.created',
      'user.updated',
      'user.metric.update',
      'payment.created',
      'payment.authorised.need',
      'payment.success',
      'payment.cancelled',
      'payment.failure',
      'payment.report.mismatch',
      'refund.created',
      'refund.success',
      'refund.failure',
      'refund.cancelled',
      'refund.reversed',
      'invoice.created',
      'invoice.process',
      'invoice.paid',
      'invoice.cancelled',
      'invoice.failed',
      'invoice.reversed',
      'webhook.endpoint.failing',
      'webhook.endpoint.disabled',
    ]);
  });

  it('of one aggregate have one owner', () => {
    const owners = new Map<string, string>();
    for (const { aggregate, owner } of Object.values(events)) {
      expect(owners.get(aggregate) ?? owner).toBe(owner);
      owners.set(aggregate, owner);
    }
  });

  it('travel under the subject of their service', () => {
    expect(eventSubject('billing', 'invoice.paid')).toBe('evt.billing.invoice.paid');
  });

  it('say who acted', () => {
    const actor = { kind: 'key', id: '7', display: 'key …3f9a' } as const;
    const envelope = {
      id: 'ev_1',
      type: 'invoice.paid',
      merchantId: 1,
      aggregate: 'invoice',
      aggregateId: 'in_1',
      version: 3,
      at: 1_790_000_000,
      actor,
      requestId: 'r',
      traceparent: '',
      data: {},
    };
    expect(EventEnvelope.parse(envelope)).toEqual(envelope);
    expect(EventEnvelope.safeParse({ ...envelope, version: 0 }).success).toBe(false);
    const kinds = ['member', 'user', 'key', 'system'] as const;
    expect(kinds.map(kind => optAccountTypeOf({ ...actor, kind }))).toEqual([0, 1, 2, 3]);
  });
});
