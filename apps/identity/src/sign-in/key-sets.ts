import { Inject, Injectable } from '@nestjs/common';
import { Rejected } from '@recur/kernel';
import { CLOCK, type Clock, LOG, type Log, Outbound } from '@recur/platform';
import { type CryptoKey, createLocalJWKSet, type JSONWebKeySet, type JWSHeaderParameters } from 'jose';
import { z } from 'zod';

const fetchIntervals = {
  /** Age at which keys are refreshed in the background. */
  refreshMs: 600_000,
  /** Minimum between fetches for unknown key ids. */
  unknownMs: 30_000,
  /** Minimum between failed fetches while no keys are cached. */
  retryMs: 5_000,
} as const;
const cacheLimits = {
  keysPerSet: 100,
  providers: 1_000,
  /** Commands waiting for fetches: below the number that may run at once, however slow providers are. */
  waiting: 48,
} as const;

const KeySet = z.object({
  keys: z.array(z.looseObject({ kty: z.string() })).max(cacheLimits.keysPerSet),
});

/** The location of a provider's key set. */
export interface KeySetAt {
  merchantId: number;
  id: number;
  url: string;
}

interface Cached {
  url: string;
  find: ReturnType<typeof createLocalJWKSet> | undefined;
  fetching: Promise<void> | undefined;
  triedMs: number;
  failing: boolean;
  /** Time of the last fetch for an unknown key id. */
  soughtMs: number;
}

/**
 * The public keys of identity providers, cached in memory: cached keys go on working while a provider is away. Each
 * provider of each merchant has its own entry, so that tokens with invented key ids throttle only that provider.
 */
@Injectable()
export class KeySets {
  /** Ordered by last use. */
  private readonly known = new Map<string, Cached>();
  private waiting = 0;

  constructor(
    private readonly outbound: Outbound,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /**
   * The key that a token's header names; undefined if the provider has no such key. Concurrent callers share one fetch.
   * Rejects `dependency_away` if the provider does not answer, and `overloaded` if too many wait for a fetch.
   */
  async find(at: KeySetAt, header: JWSHeaderParameters): Promise<CryptoKey | undefined> {
    const known = this.entry(at);
    const now = this.clock.wall();
    if (known.find === undefined) {
      if (known.fetching !== undefined || now - known.triedMs >= fetchIntervals.retryMs) {
        await this.waitFor(known);
      }
      if (known.find === undefined) throw away();
      return pick(known, header);
    }
    for (let waited = 0; ; waited++) {
      const key = await pick(known, header);
      if (key !== undefined) {
        const after = known.failing ? fetchIntervals.unknownMs : fetchIntervals.refreshMs;
        if (now - known.triedMs >= after) void this.fetch(known);
        return key;
      }
      if (known.fetching !== undefined && waited < 2) await this.waitFor(known);
      else if (header.kid !== undefined && now - known.soughtMs >= fetchIntervals.unknownMs) {
        const fetched = this.waitFor(known);
        known.soughtMs = now;
        await fetched;
      } else if (known.failing) throw away();
      else return undefined;
    }
  }

  private entry({ merchantId, id, url }: KeySetAt): Cached {
    const name = `${merchantId} ${id}`;
    const kept = this.known.get(name);
    const never = Number.NEGATIVE_INFINITY;
    const known: Cached =
      kept?.url === url
        ? kept
        : { url, find: undefined, fetching: undefined, triedMs: never, failing: false, soughtMs: never };
    this.known.delete(name);
    this.known.set(name, known);
    for (const oldest of this.known.keys()) {
      if (this.known.size <= cacheLimits.providers) break;
      this.known.delete(oldest);
    }
    return known;
  }

  /** Waits for the fetch in flight, or for a new one. */
  private waitFor(known: Cached): Promise<void> {
    if (this.waiting >= cacheLimits.waiting) throw new Rejected('overloaded');
    this.waiting++;
    return this.fetch(known).finally(() => {
      this.waiting--;
    });
  }

  private fetch(known: Cached): Promise<void> {
    if (known.fetching !== undefined) return known.fetching;
    known.triedMs = this.clock.wall();
    known.fetching = this.load(known.url)
      .then(
        find => {
          known.find = find;
          known.failing = false;
        },
        error => {
          known.failing = true;
          this.log.warn({ url: known.url, reason: String(error) }, 'could not fetch identity provider keys');
        },
      )
      .finally(() => {
        known.fetching = undefined;
      });
    return known.fetching;
  }

  private async load(url: string) {
    const result = await this.outbound.get(url, { accept: 'application/json' });
    if (result.kind === 'failed') throw new Error(`${result.reason}: ${result.detail}`);
    if (result.status !== 200) throw new Error(`status ${result.status}`);
    const { keys } = KeySet.parse(JSON.parse(result.body));
    // symmetric keys have no place in a public key set
    return createLocalJWKSet({ keys: keys.filter(({ kty }) => kty !== 'oct') } as JSONWebKeySet);
  }
}

/** The matching key; undefined if none matches, or if several do and the token names none. */
const pick = (known: Cached, { alg, kid }: JWSHeaderParameters): Promise<CryptoKey | undefined> =>
  known.find?.({ alg: alg ?? '', ...(kid !== undefined && { kid }) }).catch(() => undefined) ??
  Promise.resolve(undefined);

const away = () =>
  new Rejected('dependency_away', 'Could not fetch the keys of the identity provider; nothing was changed');
