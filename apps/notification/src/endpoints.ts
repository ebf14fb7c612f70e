import { randomBytes } from 'node:crypto';
import { Controller, Inject } from '@nestjs/common';
import {
  deleteEndpoint,
  emittedEventNames,
  endpointStatus,
  endpointType,
  type In,
  listEndpoints,
  listWebhookEvents,
  newEndpoint,
  rotateSecret,
  updateEndpoint,
  type WebhookEndpoint,
  webhookSecret,
} from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, CLOCK, type Clock, CONFIG, checkUrl, Db, Handle, Keyring, type Tx } from '@recur/platform';
import { addressRules, type Config } from './config.js';
import { connectionView } from './connections.js';
import { stands } from './domain/connection.js';
import { type Endpoint, updated } from './domain/endpoint.js';
import { newSecret } from './signature.js';
import { connections, type EndpointRow, endpoints } from './tables.js';

/** Deliveries that a deletion ends itself; what is beyond is missed by the worker, when it comes due. */
const limits = { missedAtOnce: 20_000 } as const;
/** How long the secret before a rotation signs too. */
const overlapSeconds = 86_400;

/** What waits for others first: nothing that is left waits for what is gone. */
const missScheduled = missing(`delivery_id in (
  (select delivery_id from due where endpoint_id = $2 and subject is not null and held limit ${limits.missedAtOnce})
  union all (select delivery_id from due where endpoint_id = $2 and not held order by due_at_ms
    limit ${limits.missedAtOnce})
  limit ${limits.missedAtOnce})`);

/** What a disabled endpoint has not missed yet, so that it keeps its order among what it has. */
const missRest = missIdle(limits.missedAtOnce);
/** What it missed is scheduled by catch-up.ts. */
const beginCatchUp = 'insert into catch_ups (endpoint_id, merchant_id) values ($1, $2) on conflict do nothing';

@Controller()
export class Endpoints {
  constructor(
    private readonly db: Db,
    private readonly keyring: Keyring,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Handle(newEndpoint)
  create(wishes: In<typeof newEndpoint>, caller: Caller) {
    this.checkAddress(wishes.url);
    return this.db.write(caller, async tx => {
      const { endpointId, secret } = await this.register(tx, wishes, null);
      tx.log(`WebhookEndpoint(${endpointId})`, 'New');
      return { endpointId, secret };
    });
  }

  @Handle(updateEndpoint)
  update({ endpointId, ...wishes }: In<typeof updateEndpoint>, caller: Caller) {
    this.checkAddress(wishes.url);
    return this.db.write(caller, async tx => {
      const before = await tx.lock(endpoints, living(endpointId), 'endpoint_not_found');
      const endpoint = updated(before as Endpoint, wishes);
      if (!endpoint) return {};
      const after = { ...before, ...endpoint, modifyTime: tx.now } as EndpointRow;
      tx.save(endpoints, after);
      if (before.state === 'disabled') {
        if (before.ordered) await tx.run(missRest, [tx.merchantId, endpointId, this.clock.wall()]);
        await tx.run(beginCatchUp, [endpointId, tx.merchantId]);
      }
      tx.emit('webhook.endpoint.updated', after, endpointView(after));
      tx.log(`WebhookEndpoint(${endpointId})`, 'Update');
      return {};
    });
  }

  @Handle(deleteEndpoint)
  delete({ endpointId }: In<typeof deleteEndpoint>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const before = await tx.lock(endpoints, living(endpointId), 'endpoint_not_found');
      await this.end(tx, before);
      tx.log(`WebhookEndpoint(${endpointId})`, 'Delete');
      return {};
    });
  }

  @Handle(rotateSecret)
  rotate({ endpointId }: In<typeof rotateSecret>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const before = await tx.lock(endpoints, living(endpointId), 'endpoint_not_found');
      const secret = newSecret(randomBytes);
      const former = openSecret(this.keyring, before);
      const after: EndpointRow = {
        ...before,
        sealedSecret: this.keyring.seal(secret, secretOf(before)),
        sealedFormer: this.keyring.seal(former, formerOf(before)),
        formerUntil: tx.now + overlapSeconds,
        modifyTime: tx.now,
      };
      tx.save(endpoints, after);
      tx.emit('webhook.endpoint.updated', after, endpointView(after));
      tx.log(`WebhookEndpoint(${endpointId})`, 'RotateSecret');
      return { secret, formerUntil: after.formerUntil };
    });
  }

  @Handle(listEndpoints)
  list(_: In<typeof listEndpoints>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const newest = 'order by create_time desc';
      const [all, letIn] = await Promise.all([
        reader.all(endpoints, { deletedTime: 0 }, `${newest}, endpoint_id desc`),
        reader.all(connections, {}, `${newest}, connection_id desc`),
      ]);
      const standing = letIn.filter(connection => stands(connection, reader.now));
      return { endpointList: all.map(endpointView), automationConnections: standing.map(connectionView) };
    });
  }

  @Handle(webhookSecret)
  secret({ endpointId }: In<typeof webhookSecret>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const endpoint = await reader.get(endpoints, living(endpointId), 'endpoint_not_found');
      return { secret: openSecret(this.keyring, endpoint) };
    });
  }

  @Handle(listWebhookEvents)
  async eventNames(_: In<typeof listWebhookEvents>) {
    return { eventList: [...emittedEventNames] };
  }

  /** Throws Rejected where the URL may not be called. */
  checkAddress(url: string): void {
    const problem = checkUrl(url, addressRules(this.config));
    if (problem !== undefined) throw invalid('/url', problem);
  }

  /** A new endpoint: the merchant's own, or one of an automation connection. */
  async register(tx: Tx, { url, events, productIds, ordered }: In<typeof newEndpoint>, connectionId: string | null) {
    const endpointId = await tx.nextId(endpoints);
    const secret = newSecret(randomBytes);
    const endpoint: EndpointRow = {
      merchantId: tx.merchantId,
      endpointId,
      url,
      events: [...new Set(events ?? [])],
      productIds: [...new Set(productIds ?? [])],
      ordered: ordered ?? false,
      state: 'enabled',
      disabledBecause: null,
      failures: 0,
      failingSinceMs: null,
      warned: false,
      sealedSecret: this.keyring.seal(secret, secretOf({ merchantId: tx.merchantId, endpointId })),
      sealedFormer: null,
      formerUntil: 0,
      connectionId,
      createTime: tx.now,
      modifyTime: tx.now,
      deletedTime: 0,
      version: 0,
    };
    tx.onConflict('endpoints_limit', () => new Rejected('too_many_endpoints'));
    tx.save(endpoints, endpoint);
    tx.emit('webhook.endpoint.created', endpoint, endpointView(endpoint));
    return { endpointId, secret };
  }

  /** Ends an endpoint, which is locked, for good: what was still to be sent to it is missed. */
  async end(tx: Tx, before: EndpointRow): Promise<void> {
    await tx.run(missScheduled, [tx.merchantId, before.endpointId]);
    const after = { ...before, modifyTime: tx.now, deletedTime: tx.now };
    tx.save(endpoints, after);
    tx.emit('webhook.endpoint.deleted', after, endpointView(after));
  }
}

/** What finds an endpoint that is not deleted. */
export const living = (endpointId: number) => ({ endpointId, deletedTime: 0 });

/** SQL after which the merchant ($1) misses what is due to an endpoint: what `which` says of it. Answers their `count`. */
function missing(which: string): string {
  return `with dropped as (delete from due where ${which} returning delivery_id),
    missed as (update deliveries set state = 'missed', next_at_ms = null
      where merchant_id = $1 and delivery_id = any(array(select delivery_id from dropped)))
    select count(*) from dropped`;
}

/** The same of so many that no worker is at, at a millisecond ($3); what waits for others first, as above. */
export function missIdle(most: number): string {
  return missing(`delivery_id in (
    (select delivery_id from due where endpoint_id = $2 and subject is not null and held limit ${most})
    union all (select delivery_id from due where endpoint_id = $2 and not held
      and (lease_until_ms is null or lease_until_ms < $3) limit ${most})
    limit ${most})`);
}

type Whose = Pick<EndpointRow, 'merchantId' | 'endpointId'>;
const secretOf = ({ merchantId, endpointId }: Whose) => `endpoints.sealed_secret ${merchantId} ${endpointId}`;
const formerOf = ({ merchantId, endpointId }: Whose) => `endpoints.sealed_former ${merchantId} ${endpointId}`;

/** What signs deliveries: the secret, and the one before for as long as it does; else that is null. */
export type Sealed = Whose & Pick<EndpointRow, 'sealedSecret' | 'sealedFormer'>;

export function openSecrets(keyring: Keyring, sealed: Sealed): string[] {
  const { sealedFormer } = sealed;
  const former = sealedFormer === null ? [] : [keyring.open(sealedFormer, formerOf(sealed))];
  return [openSecret(keyring, sealed), ...former];
}

function openSecret(keyring: Keyring, { sealedSecret, ...whose }: Whose & Pick<EndpointRow, 'sealedSecret'>): string {
  return keyring.open(sealedSecret, secretOf(whose));
}

export function endpointView(endpoint: EndpointRow): WebhookEndpoint {
  return {
    id: endpoint.endpointId,
    merchantId: endpoint.merchantId,
    type: endpoint.connectionId === null ? endpointType.own : endpointType.automation,
    webhookUrl: endpoint.url,
    webhookEvents: endpoint.events,
    productIds: endpoint.productIds,
    ordered: endpoint.ordered,
    status: endpoint.state === 'enabled' ? endpointStatus.active : endpointStatus.disabled,
    isDeleted: endpoint.deletedTime,
    createTime: endpoint.createTime,
    gmtModify: endpoint.modifyTime,
  };
}
