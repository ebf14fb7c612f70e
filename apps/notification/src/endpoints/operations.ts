import { randomBytes } from 'node:crypto';
import { Controller, Inject } from '@nestjs/common';
import {
  deleteEndpoint,
  emittedEventNames,
  type In,
  listEndpoints,
  listWebhookEvents,
  newEndpoint,
  rotateSecret,
  updateEndpoint,
  webhookSecret,
} from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, CLOCK, type Clock, CONFIG, checkUrl, Db, Handle, Keyring, type Tx } from '@recur/platform';
import { standingConnections } from '../automation/rows.js';
import { connectionView } from '../automation/views.js';
import { addressRules, type Config } from '../config.js';
import { beginCatchUp } from '../deliveries/catch-ups.js';
import { missIdle, missScheduled } from '../deliveries/miss.js';
import { type Endpoint, updated } from './domain/endpoint.js';
import { findEndpoint, lockEndpoint } from './rows.js';
import { newSecret, openSecret, sealFormer, sealSecret } from './secrets.js';
import { type EndpointRow, endpoints } from './tables.js';
import { endpointView } from './views.js';

/** How long the previous secret signs too after a rotation. */
const overlapSeconds = 86_400;

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
      const before = await lockEndpoint(tx, endpointId);
      const endpoint = updated(before as Endpoint, wishes);
      if (!endpoint) return {};
      const after = { ...before, ...endpoint, modifyTime: tx.now } as EndpointRow;
      tx.save(endpoints, after);
      if (before.state === 'disabled') {
        // the rest of what was scheduled joins what was missed, so that the order is kept
        if (before.ordered) await missIdle(tx, endpointId, this.clock.wall());
        await beginCatchUp(tx, endpointId);
      }
      tx.emit('webhook.endpoint.updated', after, endpointView(after));
      tx.log(`WebhookEndpoint(${endpointId})`, 'Update');
      return {};
    });
  }

  @Handle(deleteEndpoint)
  delete({ endpointId }: In<typeof deleteEndpoint>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const before = await lockEndpoint(tx, endpointId);
      await this.end(tx, before);
      tx.log(`WebhookEndpoint(${endpointId})`, 'Delete');
      return {};
    });
  }

  @Handle(rotateSecret)
  rotate({ endpointId }: In<typeof rotateSecret>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const before = await lockEndpoint(tx, endpointId);
      const secret = newSecret(randomBytes);
      const former = openSecret(this.keyring, before);
      const after: EndpointRow = {
        ...before,
        sealedSecret: sealSecret(this.keyring, secret, before),
        sealedFormer: sealFormer(this.keyring, former, before),
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
      const [all, connections] = await Promise.all([
        reader.all(endpoints, { deletedTime: 0 }, 'order by create_time desc, endpoint_id desc'),
        standingConnections(reader),
      ]);
      return { endpointList: all.map(endpointView), automationConnections: connections.map(connectionView) };
    });
  }

  @Handle(webhookSecret)
  secret({ endpointId }: In<typeof webhookSecret>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const endpoint = await findEndpoint(reader, endpointId);
      return { secret: openSecret(this.keyring, endpoint) };
    });
  }

  @Handle(listWebhookEvents)
  async eventNames(_: In<typeof listWebhookEvents>) {
    return { eventList: [...emittedEventNames] };
  }

  /** Rejects a URL that this deployment does not call. */
  checkAddress(url: string): void {
    const problem = checkUrl(url, addressRules(this.config));
    if (problem !== undefined) throw invalid('/url', problem);
  }

  /** Creates an endpoint: the merchant's own, or one of an automation connection. */
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
      sealedSecret: sealSecret(this.keyring, secret, { merchantId: tx.merchantId, endpointId }),
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

  /** Deletes an endpoint, which is locked: its scheduled deliveries become missed. */
  async end(tx: Tx, before: EndpointRow): Promise<void> {
    await missScheduled(tx, before.endpointId);
    const after = { ...before, modifyTime: tx.now, deletedTime: tx.now };
    tx.save(endpoints, after);
    tx.emit('webhook.endpoint.deleted', after, endpointView(after));
  }
}
