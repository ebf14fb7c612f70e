import { Controller } from '@nestjs/common';
import { type AutomationAnswer, type AutomationRequest, automationStep, type Slug } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Reader, type Tx } from '@recur/platform';
import { sampleBodies } from '../deliveries/samples.js';
import { EndpointRegistry, endEndpoint } from '../endpoints/registry.js';
import { endpointsOfConnection, lockEndpointOfConnection } from '../endpoints/rows.js';
import { endpointView } from '../endpoints/views.js';
import { fits } from './digest.js';
import type { Connection } from './domain/connection.js';
import { OAuth } from './oauth.js';
import { lockConnection } from './rows.js';
import { connections } from './tables.js';

type ByToken<S> = Extract<AutomationRequest, { step: S; token: string }>['input'];

/** Requests of automation platforms: OAuth (oauth.ts) and, with an access token, the endpoints of the connection. */
@Controller()
export class Hooks {
  constructor(
    private readonly db: Db,
    private readonly oauth: OAuth,
    private readonly endpoints: EndpointRegistry,
  ) {}

  /** A rejection is returned as an answer, never thrown. */
  @Handle(automationStep)
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
      const own = await endpointsOfConnection(reader, connectionId, 'desc');
      return { hooks: own.map(endpointView) };
    });
  }

  private subscribe(token: string, { url, events }: ByToken<'subscribe'>, caller: Caller) {
    this.endpoints.checkAddress(url);
    return this.db.write(caller, async tx => {
      const { connectionId } = await locked(tx, token, caller);
      return this.endpoints.register(tx, { url, events }, connectionId);
    });
  }

  private unsubscribe(token: string, { endpointId }: ByToken<'unsubscribe'>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const { connectionId } = await locked(tx, token, caller);
      const own = await lockEndpointOfConnection(tx, endpointId, connectionId);
      await endEndpoint(tx, own, 'Delete');
      return {};
    });
  }

  private samples(token: string, { event }: ByToken<'samples'>, caller: Caller) {
    return this.db.read(caller, async reader => {
      await readable(reader, token, caller);
      return { samples: await sampleBodies(reader, event) };
    });
  }
}

const readable = async (reader: Reader, token: string, { actor }: Caller) =>
  authorized(await reader.find(connections, { connectionId: actor.id }), token, reader.now);

/** Locks the connection, so that a token cannot be used while it is being revoked. */
const locked = async (tx: Tx, token: string, { actor }: Caller) =>
  authorized(await lockConnection(tx, actor.id), token, tx.now);

/** The connection when the token is its valid access token; else rejects. */
function authorized(connection: Connection | undefined, token: string, now: number): Connection {
  if (!connection || now >= connection.accessUntil || !fits(token, connection.accessHash)) {
    throw new Rejected('credential_invalid');
  }
  return connection;
}
