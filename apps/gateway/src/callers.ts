import { type ConsumerMessages, DeliverPolicy, type JsMsg, jetstream } from '@nats-io/jetstream';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { CallersChanged, EventEnvelope, eventSubject } from '@recur/contracts';
import { Bus, CLOCK, type Clock, LOG, type Log, streamOf, systemCaller } from '@recur/platform';
import type { JWK } from 'jose';
import { z } from 'zod';

const times = { askMs: 3_000, retryMs: 500, refreshMs: 300_000, behindMs: 900, silentMs: 5_000 } as const;

/** What identity answers to `cmd.identity.platform.callers`: all that it has told by events up to `version`. */
const Snapshot = CallersChanged.extend({ version: z.int().min(0) });
type Snapshot = z.output<typeof Snapshot>;
const Changed = EventEnvelope.pick({ version: true }).extend({ data: CallersChanged });
const Beat = z.object({ version: z.int().min(0) });

/** Public keys by their id: the only ones that verify a credential. */
export type PublicKeys = ReadonlyMap<string, JWK>;

/**
 * What the gateway knows of callers: a snapshot from identity, then its events in order. Identity's heartbeat tells
 * whether one was missed; then, after a reconnection and every five minutes, the snapshot is taken again. It is all in
 * memory: no request waits for it.
 */
@Injectable()
export class Callers implements OnApplicationBootstrap, OnApplicationShutdown {
  private publicKeys: PublicKeys = new Map();
  private revoked = new Set<string>();
  /** When those end that hold for some time yet, in unix seconds. */
  private ending = new Map<string, number>();
  /** The number of identity's last event that is known here; none before the first snapshot. */
  private version: number | undefined;
  private differsSinceMs: number | undefined;
  private lastBeatMs = Number.NEGATIVE_INFINITY;
  private stream: ConsumerMessages | undefined;
  private syncing = false;
  private refresh: NodeJS.Timeout | undefined;
  private retry: NodeJS.Timeout | undefined;
  private stopped = false;

  constructor(
    private readonly bus: Bus,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /** Whether a snapshot was taken. Before that nobody can be told apart from a stranger. */
  get known(): boolean {
    return this.version !== undefined;
  }

  /** Whether identity was heard of lately; what it has ended since would be known. */
  get inTouch(): boolean {
    return this.clock.wall() - this.lastBeatMs < times.silentMs;
  }

  /** Replaced as a whole when it changes, so that what was verified with an older set can be told. */
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
    this.bus.onSignal('beat.identity.callers', payload => this.heard(payload));
    this.bus.onReconnect(() => this.sync('the bus is back'));
    this.refresh = setInterval(() => this.sync('five minutes have passed'), times.refreshMs).unref();
    this.sync('start');
  }

  onApplicationShutdown(): void {
    this.stopped = true;
    clearInterval(this.refresh);
    clearTimeout(this.retry);
    this.stream?.stop();
  }

  /** Follows anew and takes a snapshot; again and again until it succeeds. */
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

  /** In this order nothing is lost in between: an event that comes before the snapshot is in it. */
  private async takeUp(why: string): Promise<void> {
    await this.follow().catch(error => this.log.debug({ err: error }, "identity's events cannot be followed yet"));
    const before = this.version ?? 0;
    const caller = systemCaller(0, 'callers', this.clock.wall() + times.askMs);
    const reply = await this.bus.request('cmd.identity.platform.callers', '{}', caller);
    const answer = JSON.parse(Buffer.from(reply.bytes).toString());
    if (!reply.ok) throw new Error(`identity could not tell its callers: ${answer.message}`);
    this.take(Snapshot.parse(answer), before);
    this.log.debug({ why, version: this.version, keys: this.publicKeys.size }, 'callers are known');
  }

  /**
   * An answer older than what was known when it was asked for comes from an identity that was restored from a backup:
   * it is the truth. One that is only older than an event that came meanwhile is not.
   */
  private take(snapshot: Snapshot, before: number): void {
    if (this.version !== undefined && snapshot.version < this.version && snapshot.version >= before) return;
    this.version = snapshot.version;
    this.differsSinceMs = undefined;
    this.publicKeys = keysOf(snapshot.keys);
    this.revoked = new Set(snapshot.revoked);
    this.ending = new Map(snapshot.ending.map(({ jtiHash, revokedTime }) => [jtiHash, revokedTime]));
  }

  private async follow(): Promise<void> {
    this.stream?.stop();
    this.stream = undefined;
    const consumer = await jetstream(this.bus.nc, { timeout: times.askMs }).consumers.get(streamOf('identity'), {
      filter_subjects: eventSubject('identity', 'callers.changed'),
      deliver_policy: DeliverPolicy.New,
    });
    const stream = await consumer.consume({ callback: message => this.changed(message) });
    if (this.stopped) stream.stop();
    this.stream = stream;
    void stream.closed().then(() => {
      if (this.stream === stream) this.stream = undefined;
    });
  }

  private changed(message: JsMsg): void {
    const event = Changed.safeParse(parsed(message.string()));
    const { version, data } = event.data ?? { version: Number.POSITIVE_INFINITY };
    if (this.version === undefined || version <= this.version) return;
    if (data === undefined || version > this.version + 1) {
      this.sync(`event ${version} came after ${this.version}`);
      return;
    }
    this.version = version;
    if (data.keys.length > 0) this.publicKeys = keysOf(data.keys);
    for (const { jtiHash, revokedTime } of data.ending) this.ending.set(jtiHash, revokedTime);
    for (const id of data.revoked) {
      this.revoked.add(id);
      this.ending.delete(id);
    }
  }

  /** An event may be a moment behind the beat that counts it; if it stays away, it was missed. */
  private heard(payload: string): void {
    const beat = Beat.safeParse(parsed(payload));
    if (!beat.success) return;
    const now = this.clock.wall();
    this.lastBeatMs = now;
    if (this.stream === undefined) this.sync('events are not followed');
    else if (beat.data.version === this.version) this.differsSinceMs = undefined;
    else if (this.differsSinceMs === undefined) this.differsSinceMs = now;
    else if (now - this.differsSinceMs >= times.behindMs) this.sync(`identity is at ${beat.data.version}`);
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
