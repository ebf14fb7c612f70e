import { describe, expect, it } from '@jest/globals';
import {
  afterVerdict,
  disableAfter,
  type Endpoint,
  type EndpointChanges,
  enabled,
  matches,
  updated,
  warnAfter,
} from '../../../src/endpoints/domain/endpoint.js';

const fresh: Endpoint = {
  merchantId: 1,
  endpointId: 7,
  url: 'https://shop.example/hooks',
  events: ['invoice.paid', 'user.created'],
  productIds: [],
  ordered: false,
  state: 'enabled',
  disabledBecause: null,
  failures: 0,
  failingSinceMs: null,
  warned: false,
};
const hourMs = 3_600_000;

/** An endpoint after failures at the given hours, with the notices by hour. */
function failing(hours: readonly number[], from: Endpoint = fresh) {
  let endpoint = from;
  const notices: [number, string][] = [];
  for (const hour of hours) {
    const step = afterVerdict(endpoint, 'failure', hour * hourMs);
    endpoint = step.endpoint;
    if (step.notice) notices.push([hour, step.notice]);
  }
  return { endpoint, notices };
}

const everySixHours = Array.from({ length: 40 }, (_, i) => i * 6);

describe('which events go to an endpoint', () => {
  const route = (wanted: number[], type: string, concerned: number[]) =>
    matches({ events: fresh.events, productIds: wanted }, { type, productIds: () => concerned });

  it.each([
    ['a name that is not subscribed', [], 'invoice.created', [], false],
    ['no product filter', [], 'invoice.paid', [3], true],
    ['the product wanted', [3, 4], 'invoice.paid', [4], true],
    ['another product', [3, 4], 'invoice.paid', [5], false],
    ['one of several products', [3], 'invoice.paid', [1, 3], true],
    ['the default product, wanted', [0], 'invoice.paid', [0], true],
    ['the default product, not wanted', [3], 'invoice.paid', [0], false],
    ['another product where only the default one is wanted', [0], 'invoice.paid', [3], false],
    ['no product concerned', [3], 'user.created', [], true],
    ['no product concerned and not subscribed', [3], 'user.updated', [], false],
  ])('%s', (_, wanted, type, productIds, expected) => {
    expect(route(wanted, type, productIds)).toBe(expected);
  });

  it('lets nothing through where no event is subscribed', () => {
    expect(matches({ events: [], productIds: [] }, { type: 'invoice.paid', productIds: () => [] })).toBe(false);
  });
});

describe('an endpoint that fails', () => {
  it('is warned at two and a half days and disabled at five', () => {
    const { endpoint, notices } = failing(everySixHours);
    expect(notices).toEqual([
      [60, 'failing'],
      [120, 'disabled'],
    ]);
    expect(endpoint).toMatchObject({ state: 'disabled', disabledBecause: 'failing', failures: 21, failingSinceMs: 0 });
  });

  it('keeps its place until both the time and the count are reached, to the millisecond', () => {
    const base: Endpoint = { ...fresh, failures: disableAfter.failures - 1, failingSinceMs: 0, warned: true };
    const verdictAt = (endpoint: Endpoint, ms: number) => afterVerdict(endpoint, 'failure', ms).endpoint.state;
    expect(verdictAt(base, disableAfter.ms)).toBe('disabled');
    expect(verdictAt(base, disableAfter.ms - 1)).toBe('enabled');
    expect(verdictAt({ ...base, failures: disableAfter.failures - 2 }, disableAfter.ms)).toBe('enabled');

    const halfway: Endpoint = { ...fresh, failures: warnAfter.failures - 1, failingSinceMs: 0 };
    expect(afterVerdict(halfway, 'failure', warnAfter.ms).notice).toBe('failing');
    expect(afterVerdict(halfway, 'failure', warnAfter.ms - 1).notice).toBeUndefined();
    expect(afterVerdict({ ...halfway, failures: 8 }, 'failure', warnAfter.ms).notice).toBeUndefined();
  });

  it('is warned once, and starts anew after one success', () => {
    const { endpoint } = failing(everySixHours.slice(0, 20));
    expect(endpoint.warned).toBe(true);
    const recovered = afterVerdict(endpoint, 'success', 115 * hourMs);
    expect(recovered).toEqual({ endpoint: fresh });

    const again = failing(
      everySixHours.map(hour => hour + 116),
      recovered.endpoint,
    );
    expect(again.notices).toEqual([
      [176, 'failing'],
      [236, 'disabled'],
    ]);
  });

  it('is not disabled before it was warned, however late the failures come', () => {
    const burstThenSilence = [...Array(19).fill(0), 200, 201];
    expect(failing(burstThenSilence).notices).toEqual([
      [200, 'failing'],
      [201, 'disabled'],
    ]);
  });

  it('survives a burst: a thousand failures in one day disable nothing', () => {
    const { endpoint, notices } = failing(Array.from({ length: 1000 }, (_, i) => (i * 24) / 1000));
    expect(endpoint).toMatchObject({ state: 'enabled', failures: 1000 });
    expect(notices).toEqual([]);
  });
});

describe('an endpoint that is disabled', () => {
  it('by 410 is so at once', () => {
    const { endpoint, notice } = afterVerdict(fresh, 'gone', 5);
    expect(notice).toBe('disabled');
    expect(endpoint).toMatchObject({ state: 'disabled', disabledBecause: 'gone' });
  });

  it('is not changed by results that come in late', () => {
    const { endpoint } = afterVerdict(fresh, 'gone', 5);
    for (const verdict of ['success', 'failure', 'gone'] as const) {
      expect(afterVerdict(endpoint, verdict, 6)).toEqual({ endpoint });
    }
  });

  it('is as new when it is enabled again', () => {
    expect(enabled(failing(everySixHours).endpoint)).toEqual(fresh);
    expect(enabled(fresh)).toEqual(fresh);
  });
});

describe('an endpoint as its merchant wishes it', () => {
  const own = { ...fresh, productIds: [3, 4], failures: 7, failingSinceMs: 5, warned: true };
  const wish = (over: Partial<EndpointChanges>, of: Endpoint = own) => updated(of, { url: own.url, ...over });

  it.each<[string, Partial<EndpointChanges>]>([
    ['nothing but its URL', {}],
    ['null lists', { events: null, productIds: null }],
    ['the same order', { ordered: false }],
    ['the same lists in another order and twice', { events: ['user.created', 'invoice.paid'], productIds: [4, 3, 4] }],
  ])('is as it was, failures too: %s', (_, wishes) => {
    expect(wish(wishes)).toBeUndefined();
  });

  it.each<[string, Partial<EndpointChanges>, Partial<Endpoint>]>([
    ['fewer events', { events: ['invoice.paid', 'invoice.paid'] }, { events: ['invoice.paid'] }],
    ['no events', { events: [] }, { events: [] }],
    ['all products', { productIds: [] }, { productIds: [] }],
    ['events in order', { ordered: true }, { ordered: true }],
    ['one product more', { productIds: [0, 4, 3] }, { productIds: [0, 4, 3] }],
  ])('keeps its failures: %s', (_, wishes, change) => {
    expect(wish(wishes)).toEqual({ ...own, ...change });
  });

  it('has a clean slate at another URL', () => {
    const url = 'https://shop.example/other';
    expect(wish({ url })).toEqual({ ...fresh, url, productIds: [3, 4] });
  });

  it('is in service again where it was disabled, whatever is wished', () => {
    const { endpoint: gone } = afterVerdict(own, 'gone', 6);
    expect(wish({}, gone)).toEqual({ ...fresh, productIds: [3, 4] });
    expect(wish({ events: [] }, gone)).toEqual({ ...fresh, productIds: [3, 4], events: [] });
  });
});
