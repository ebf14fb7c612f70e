import { Injectable } from '@nestjs/common';
import type { AutomationAnswer, AutomationRequest, Slug } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, type Reader, type Tx } from '@recur/platform';
import { fits, lockConnection } from './connections.js';
import type { Connection } from './domain/connection.js';
import { Endpoints, endpointView } from './endpoints.js';
import { OAuth } from './oauth.js';
import { exampleOf } from './redelivery.js';
import { connections, endpoints } from './tables.js';

type ByToken<S> = Extract<AutomationRequest, { step: S; token: string }>['input'];

/** `read`: more than are shown, since some may be examples themselves. */
const limits = { samples: 3, read: 20, lookedAt: 1_000, sampleBytes: 100_000 } as const;

const newest = `select body from (select type, body from events where merchant_id = $1
    order by event_id desc limit ${limits.lookedAt}) recent
  where type = $2 and length(body) < ${limits.sampleBytes} limit ${limits.read}`;

/** Answers an automation platform: its way in (oauth.ts), and what it may do with an access token: see to its hooks. */
@Injectable()
export class Hooks {
  constructor(
    private readonly db: Db,
    private readonly oauth: OAuth,
    private readonly endpoints: Endpoints,
  ) {}

  /** Never throws a Rejected: it is an answer. */
  async answer(request: AutomationRequest, caller: Caller): Promise<AutomationAnswer> {
    try {
      if ('fields' in request) return await this.oauth[request.step](request.fields, caller);
      const holder = await this.oauth.callerOf(request.token.split('.')[0], caller);
      if (!holder) throw new Rejected('credential_invalid');
      return { kind: 'data', merchantId: holder.merchantId, data: await this.run(request, holder) };
    } catch (error) {
      if (!(error instanceof Rejected)) throw error;
      return {
        kind: 'rejected',
        slug: error.slug as Slug,
        message: error.message || undefined,
        issues: [...error.issues],
      };
    }
  }

  private run(request: Extract<AutomationRequest, { token: string }>, caller: Caller): Promise<object> {
    switch (request.step) {
      case 'list':
        return this.list(request.token, caller);
      case 'subscribe':
        return this.subscribe(request.token, request.input, caller);
      case 'unsubscribe':
        return this.unsubscribe(request.token, request.input, caller);
      case 'samples':
        return this.samples(request.token, request.input, caller);
    }
  }

  private list(token: string, caller: Caller) {
    return this.db.read(caller, async reader => {
      const { connectionId } = await readable(reader, token, caller);
      const own = await reader.all(endpoints, { connectionId, deletedTime: 0 }, 'order by endpoint_id desc');
      return { hooks: own.map(endpointView) };
    });
  }

  private subscribe(token: string, { url, events }: ByToken<'subscribe'>, caller: Caller) {
    this.endpoints.checkAddress(url);
    return this.db.write(caller, async tx => {
      const { connectionId } = await locked(tx, token, caller);
      const made = await this.endpoints.register(tx, { url, events }, connectionId);
      tx.log(`WebhookEndpoint(${made.endpointId})`, 'New');
      return made;
    });
  }

  private unsubscribe(token: string, { endpointId }: ByToken<'unsubscribe'>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const { connectionId } = await locked(tx, token, caller);
      const own = await tx.lock(endpoints, { endpointId, connectionId, deletedTime: 0 }, 'endpoint_not_found');
      await this.endpoints.end(tx, own);
      tx.log(`WebhookEndpoint(${endpointId})`, 'Delete');
      return {};
    });
  }

  /** The newest bodies of an event that were sent to anyone, or an empty example. */
  private samples(token: string, { event }: ByToken<'samples'>, caller: Caller) {
    return this.db.read(caller, async reader => {
      await readable(reader, token, caller);
      const rows = await reader.query(newest, [reader.merchantId, event]);
      const bodies = rows.map(({ body }) => JSON.parse(String(body)) as { test?: true });
      const real = bodies.filter(({ test }) => test === undefined).slice(0, limits.samples);
      return { samples: real.length > 0 ? real : [JSON.parse(exampleOf(event, reader))] };
    });
  }
}

const readable = async (reader: Reader, token: string, { actor }: Caller) =>
  holding(await reader.find(connections, { connectionId: actor.id }), token, reader.now);

/** Locked, so that nothing is done with a token that is being revoked. */
const locked = async (tx: Tx, token: string, { actor }: Caller) =>
  holding(await lockConnection(tx, actor.id), token, tx.now);

/** The connection, where this is its access token and holds. */
function holding(connection: Connection | undefined, token: string, now: number): Connection {
  if (!connection || now >= connection.accessUntil || !fits(token, connection.accessHash)) {
    throw new Rejected('credential_invalid');
  }
  return connection;
}
