import { randomBytes } from 'node:crypto';
import { Controller, Inject } from '@nestjs/common';
import {
  deleteEndpoint,
  type In,
  listEndpoints,
  listWebhookEvents,
  newEndpoint,
  rotateSecret,
  updateEndpoint,
  webhookEventNames,
  webhookSecret,
} from '@recur/contracts';
import { type Caller, CLOCK, type Clock, Db, Handle, Keyring } from '@recur/platform';
import { standingConnections } from '../automation/rows.js';
import { connectionView } from '../automation/views.js';
import { beginCatchUp } from '../deliveries/catch-ups.js';
import { missIdle } from '../deliveries/miss.js';
import { endpointAggregate } from './aggregate.js';
import { type Endpoint, updated } from './domain/endpoint.js';
import { EndpointRegistry, endEndpoint } from './registry.js';
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
    private readonly registry: EndpointRegistry,
    private readonly keyring: Keyring,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Handle(newEndpoint)
  create(wishes: In<typeof newEndpoint>, caller: Caller) {
    this.registry.checkAddress(wishes.url);
    return this.db.write(caller, tx => this.registry.register(tx, wishes, null));
  }

  @Handle(updateEndpoint)
  update({ endpointId, ...wishes }: In<typeof updateEndpoint>, caller: Caller) {
    this.registry.checkAddress(wishes.url);
    return this.db.write(caller, async tx => {
      const before = await lockEndpoint(tx, endpointId);
      const endpoint = updated(before as Endpoint, wishes);
      if (!endpoint) return {};
      const after = { ...before, ...endpoint, modifyTime: tx.now } as EndpointRow;
      if (before.state === 'disabled') {
        // the rest of what was scheduled joins what was missed, so that the order is kept
        if (before.ordered) await missIdle(tx, endpointId, this.clock.wall());
        await beginCatchUp(tx, endpointId, Math.floor(this.clock.wall() / 1000));
      }
      tx.step(endpointAggregate, after, 'webhook.endpoint.updated', { log: 'Update' });
      return {};
    });
  }

  @Handle(deleteEndpoint)
  delete({ endpointId }: In<typeof deleteEndpoint>, caller: Caller) {
    return this.db.write(caller, async tx => {
      await endEndpoint(tx, await lockEndpoint(tx, endpointId), 'Delete');
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
      tx.step(endpointAggregate, after, 'webhook.endpoint.updated', { log: 'RotateSecret' });
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
    return { eventList: [...webhookEventNames] };
  }
}
