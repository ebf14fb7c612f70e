import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import {
  CallersChanged,
  type CallersSnapshot,
  callersSnapshot,
  EventEnvelope,
  eventSubject,
  events,
} from '@recur/contracts';
import {
  ask,
  Bus,
  CLOCK,
  type Clock,
  type Event,
  eventsIn,
  LOG,
  type Log,
  patient,
  systemCaller,
} from '@recur/platform';
import type { JWK } from 'jose';
import { z } from 'zod';
import { SignedIn, type SignedInMember } from './signed-in.js';

const times = {
  askMs: patient(3_000),
  retryMs: 500,
  refreshMs: 300_000,
  behindMs: 900,
  silentMs: patient(5_000),
  /** Longest wait for the event of a session whose token has already arrived. */
  newsMs: patient(2_000),
} as const;

const Changed = EventEnvelope.pick({ version: true }).extend({ data: CallersChanged });
type Changed = z.output<typeof Changed>;
const Beat = z.object({ version: z.int().min(0) });

/** Public keys by their id: the only ones that verify a credential. */
export type PublicKeys = ReadonlyMap<string, JWK>;

/**
 * The gateway's knowledge of callers: a snapshot from identity, then its events in order. Identity's heartbeat tells
 * whether one was missed; then, after a reconnection and every five minutes, the snapshot is taken again. Everything is
 * kept in memory, so requests do not wait for it.
 */
@Injectable()
export class Callers implements OnApplicationBootstrap, OnApplicationShutdown {
  private publicKeys: PublicKeys = new Map();
  private revoked = new Set<string>();
  /** API keys that will end, with the unix second at which they do. */
  private ending = new Map<string, number>();
  /** The number of identity's last event that is known here; none before the first snapshot. */
  private version: number | undefined;
  private readonly signedIn = new SignedIn();
  /** The version of identity's last heartbeat while it is ahead of ours, and when it came. */
  private awaited: { version: number; atMs: number } | undefined;
  /** The latest time whose changes in identity are all known here. */
  private currentAtMs = Number.NEGATIVE_INFINITY;
  private lastBeatMs = Number.NEGATIVE_INFINITY;
  /** The events that came while a snapshot is being taken, page by page. */
  private meanwhile: Changed[] = [];
  private readonly waiting = new Set<() => void>();
  private syncing = false;
  private refresh: NodeJS.Timeout | undefined;
  private retry: NodeJS.Timeout | undefined;
  private stopped = false;

  constructor(
    private readonly bus: Bus,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /** True once a snapshot was taken; before, no credential can be judged. */
  get known(): boolean {
    return this.version !== undefined;
  }

  /** True while identity's heartbeats arrive. */
  get inTouch(): boolean {
    return this.clock.wall() - this.lastBeatMs < times.silentMs;
  }

  /** True while everything that identity changed up to 5 seconds ago is known. Only then are members' tokens accepted. */
  get current(): boolean {
    return this.clock.wall() - this.currentAtMs < times.silentMs;
  }

  /** The member who is signed in with this session. */
  member(sid: string): SignedInMember | undefined {
    return this.signedIn.find(sid, this.clock.wall());
  }

  /**
   * Waits briefly until version `version` of identity is known; resolves to false if it is not. A heartbeat with an older
   * version ends the wait with true: identity was restored from a backup, and everything it knows is known here.
   */
  async knows(version: number): Promise<boolean> {
    const sinceMs = this.clock.wall();
    const isDecided = () => this.isKnown(version) || this.currentAtMs > sinceMs;
    if (isDecided()) return true;
    await new Promise<void>(resolve => {
      const end = () => {
        this.waiting.delete(look);
        clearTimeout(timer);
        resolve();
      };
      const look = () => (isDecided() ? end() : undefined);
      const timer = setTimeout(end, times.newsMs);
      this.waiting.add(look);
    });
    return isDecided();
  }

  private isKnown(version: number): boolean {
    return this.version !== undefined && this.version >= version;
  }

  /** Replaced as a whole on change, so that proofs verified with an older set can be recognised. */
  get keys(): PublicKeys {
    return this.publicKeys;
  }

  /** `id` is the SHA-256 of the jti, base64url. */
  isRevoked(id: string): boolean {
    if (this.revoked.has(id)) return true;
    const end = this.ending.get(id);
    return end !== undefined && end * 1000 <= this.clock.wall();
  }

  onApplicationBootstrap(): void {
    // as they are published: the stream is not asked, since the heartbeat tells of what was missed
    this.bus.onSignal(eventSubject('identity', 'callers.changed'), payload => {
      for (const event of eventsIn({ data: Buffer.from(payload) }, events)) this.changed(event);
    });
    this.bus.onSignal('beat.identity.callers', payload => this.heard(payload));
    this.bus.onReconnect(() => this.sync('the bus is back'));
    this.refresh = setInterval(() => this.sync('five minutes have passed'), times.refreshMs).unref();
    this.sync('start');
  }

  onApplicationShutdown(): void {
    this.stopped = true;
    clearInterval(this.refresh);
    clearTimeout(this.retry);
  }

  /** Takes a snapshot; retries until it succeeds. */
  private sync(why: string): void {
    if (this.syncing || this.stopped) return;
    this.syncing = true;
    clearTimeout(this.retry);
    this.takeUp(why)
      .catch(error => {
        this.log.debug({ err: error, why }, 'callers cannot be asked for yet');
        this.retry = setTimeout(() => this.sync(why), times.retryMs).unref();
      })
      .finally(() => {
        this.syncing = false;
      });
  }

  /**
   * No event is lost meanwhile: one before the first page is in it, and one that comes after it is applied to all of
   * them; applying one twice changes nothing.
   */
  private async takeUp(why: string): Promise<void> {
    this.meanwhile = [];
    const askedMs = this.clock.wall();
    const first = await this.page();
    const { members, revoked, ending } = first;
    for (let { next } = first; next !== null; ) {
      const page = await this.page(next);
      members.push(...page.members);
      revoked.push(...page.revoked);
      ending.push(...page.ending);
      next = page.next;
    }
    this.take(first, askedMs);
    this.log.debug(
      { why, version: this.version, keys: this.publicKeys.size, sessions: this.signedIn.size },
      'callers are known',
    );
  }

  private page(after?: CallersSnapshot['next']): Promise<CallersSnapshot> {
    const caller = systemCaller(0, 'callers', this.clock.wall() + times.askMs);
    return ask(this.bus, callersSnapshot, after ? { after } : {}, caller);
  }

  /** Takes over a snapshot, even one older than what was known: identity was restored from a backup. */
  private take(snapshot: CallersSnapshot, askedMs: number): void {
    const keys = keysOf(snapshot.keys);
    if (!isDeepStrictEqual(keys, this.publicKeys)) this.publicKeys = keys;
    this.revoked = new Set(snapshot.revoked);
    this.ending = new Map(snapshot.ending.map(({ jtiHash, revokedTime }) => [jtiHash, revokedTime]));
    this.signedIn.replace(snapshot.members);
    this.version = snapshot.version;
    this.awaited = undefined;
    this.currentAtMs = Math.max(this.currentAtMs, askedMs);
    for (const event of this.meanwhile) if (event.version === this.version + 1) this.apply(event);
    this.told();
  }

  private changed(told: Event | undefined): void {
    const event = Changed.safeParse(told).data;
    if (event !== undefined && this.syncing) this.meanwhile.push(event);
    const version = event?.version ?? Number.POSITIVE_INFINITY;
    if (this.version === undefined || version <= this.version) return;
    if (event === undefined || version > this.version + 1) {
      this.sync(`event ${version} came after ${this.version}`);
      return;
    }
    this.apply(event);
    this.told();
  }

  private apply({ version, data }: Changed): void {
    this.version = version;
    if (data.keys.length > 0) this.publicKeys = keysOf(data.keys);
    for (const { jtiHash, revokedTime } of data.ending) this.ending.set(jtiHash, revokedTime);
    for (const id of data.revoked) {
      this.revoked.add(id);
      this.ending.delete(id);
    }
    for (const member of data.members) this.signedIn.set(member);
  }

  /** Wakes those who wait for a version, after more has become known. */
  private told(): void {
    if (this.awaited !== undefined && this.isKnown(this.awaited.version)) {
      this.currentAtMs = this.awaited.atMs;
      this.awaited = undefined;
    }
    for (const look of this.waiting) look();
  }

  /** Handles a heartbeat. An event may come shortly after the beat that counts it; one that stays away was missed. */
  private heard(payload: string): void {
    const beat = Beat.safeParse(parsed(payload));
    if (!beat.success) return;
    const now = this.clock.wall();
    this.lastBeatMs = now;
    if (beat.data.version === this.version) {
      this.awaited = undefined;
      this.currentAtMs = now;
      this.told();
    } else {
      this.awaited ??= { version: beat.data.version, atMs: now };
    }
    if (this.awaited !== undefined && now - this.awaited.atMs >= times.behindMs)
      this.sync(`identity is at ${beat.data.version}`);
  }
}

function keysOf(jwks: readonly Record<string, unknown>[]): PublicKeys {
  const usable = jwks.flatMap(({ kid, kty, crv, x }) =>
    typeof kid === 'string' && kty === 'OKP' && crv === 'Ed25519' && typeof x === 'string'
      ? [[kid, { kty, crv, x }] as const]
      : [],
  );
  return new Map(usable);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
