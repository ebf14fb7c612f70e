import { Inject, Injectable } from '@nestjs/common';
import { Rejected } from '@recur/kernel';
import { CLOCK, type Clock, LOG, type Log, Outbound } from '@recur/platform';
import { type CryptoKey, createLocalJWKSet, type JSONWebKeySet, type JWSHeaderParameters } from 'jose';
import { z } from 'zod';

const limits = {
  /** Keys are fetched again after this, beside the work. */
  refreshMs: 600_000,
  /** A token whose key is not known makes us look for it this often. */
  unknownMs: 30_000,
  /** After a fetch that failed while no key was known. */
  retryMs: 5_000,
  keys: 100,
  providers: 1_000,
  /** So many commands may wait for providers, however slow these are: fewer than run at once. */
  waiting: 48,
} as const;

const KeySet = z.object({
  keys: z.array(z.looseObject({ kty: z.string() })).max(limits.keys),
});

/** A provider's key set: where it is, and whose. */
export interface KeySetAt {
  merchantId: number;
  id: number;
  url: string;
}

interface Known {
  url: string;
  find: ReturnType<typeof createLocalJWKSet> | undefined;
  fetching: Promise<void> | undefined;
  triedMs: number;
  failing: boolean;
  /** When a token made us look for a key. */
  soughtMs: number;
}

/**
 * The public keys of identity providers, kept in memory. What is known goes on working while the provider is away. Each
 * provider of each merchant has its own, so that tokens with invented keys keep nobody else from being looked for.
 */
@Injectable()
export class KeySets {
  /** In the order of their last use. */
  private readonly known = new Map<string, Known>();
  private waiting = 0;

  constructor(
    private readonly outbound: Outbound,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /**
   * The key that a token's header names; undefined where the provider has none such. Those who ask at once share one
   * fetch. Rejects `dependency_away` where that cannot be known, because the provider does not answer, and `overloaded`
   * where too many wait for such an answer.
   */
  async find(at: KeySetAt, header: JWSHeaderParameters): Promise<CryptoKey | undefined> {
    const known = this.entry(at);
    const now = this.clock.wall();
    if (known.find === undefined) {
      if (known.fetching !== undefined || now - known.triedMs >= limits.retryMs) {
        await this.waitFor(known);
      }
      if (known.find === undefined) throw away();
      return pick(known, header);
    }
    for (let waited = 0; ; waited++) {
      const key = await pick(known, header);
      if (key !== undefined) {
        const after = known.failing ? limits.unknownMs : limits.refreshMs;
        if (now - known.triedMs >= after) void this.fetch(known);
        return key;
      }
      if (known.fetching !== undefined && waited < 2) await this.waitFor(known);
      else if (header.kid !== undefined && now - known.soughtMs >= limits.unknownMs) {
        const fetched = this.waitFor(known);
        known.soughtMs = now;
        await fetched;
      } else if (known.failing) throw away();
      else return undefined;
    }
  }

  private entry({ merchantId, id, url }: KeySetAt): Known {
    const name = `${merchantId} ${id}`;
    const kept = this.known.get(name);
    const never = Number.NEGATIVE_INFINITY;
    const known: Known =
      kept?.url === url
        ? kept
        : { url, find: undefined, fetching: undefined, triedMs: never, failing: false, soughtMs: never };
    this.known.delete(name);
    this.known.set(name, known);
    for (const oldest of this.known.keys()) {
      if (this.known.size <= limits.providers) break;
      this.known.delete(oldest);
    }
    return known;
  }

  /** Waits for the fetch that is under way, or for a new one. */
  private waitFor(known: Known): Promise<void> {
    if (this.waiting >= limits.waiting) throw new Rejected('overloaded');
    this.waiting++;
    return this.fetch(known).finally(() => {
      this.waiting--;
    });
  }

  private fetch(known: Known): Promise<void> {
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
          this.log.warn({ url: known.url, reason: String(error) }, 'the keys of an identity provider are not had');
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
    // a secret has no place among public keys
    return createLocalJWKSet({ keys: keys.filter(({ kty }) => kty !== 'oct') } as JSONWebKeySet);
  }
}

/** None where none fits, or where several do and the token does not say which. */
const pick = (known: Known, { alg, kid }: JWSHeaderParameters): Promise<CryptoKey | undefined> =>
  known.find?.({ alg: alg ?? '', ...(kid !== undefined && { kid }) }).catch(() => undefined) ??
  Promise.resolve(undefined);

const away = () => new Rejected('dependency_away', 'The identity provider does not tell its keys; nothing was done');
