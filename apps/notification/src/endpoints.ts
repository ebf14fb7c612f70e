import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import {
  emittedEventNames,
  endpointStatus,
  type In,
  listWebhookEvents,
  newEndpoint,
  type WebhookEndpoint,
  webhookSecret,
} from '@recur/contracts';
import { invalid } from '@recur/kernel';
import { type Caller, CONFIG, Db, Handle, Keyring } from '@recur/platform';
import { checkUrl } from './address.js';
import { addressRules, type Config } from './config.js';
import { newSecret } from './signature.js';
import { type EndpointRow, endpoints } from './tables.js';

@Injectable()
export class Endpoints {
  constructor(
    private readonly db: Db,
    private readonly keyring: Keyring,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Handle(newEndpoint)
  create({ url, events, productIds }: In<typeof newEndpoint>, caller: Caller) {
    const problem = checkUrl(url, addressRules(this.config));
    if (problem !== undefined) throw invalid('/url', problem);
    return this.db.write(caller, async tx => {
      const endpointId = await tx.nextId(endpoints);
      const secret = newSecret(randomBytes);
      const endpoint: EndpointRow = {
        merchantId: tx.merchantId,
        endpointId,
        url,
        events: [...new Set(events ?? [])],
        productIds: [...new Set(productIds ?? [])],
        state: 'enabled',
        disabledBecause: null,
        failures: 0,
        failingSinceMs: null,
        warned: false,
        sealedSecret: this.keyring.seal(secret, secretOf(tx.merchantId, endpointId)),
        createTime: tx.now,
        modifyTime: tx.now,
        version: 0,
      };
      tx.save(endpoints, endpoint);
      tx.emit('webhook.endpoint.created', endpoint, endpointView(endpoint));
      tx.log(`WebhookEndpoint(${endpointId})`, 'New');
      return { endpointId, secret };
    });
  }

  @Handle(webhookSecret)
  secret({ endpointId }: In<typeof webhookSecret>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const endpoint = await reader.get(endpoints, { endpointId }, 'endpoint_not_found');
      return { secret: openSecret(this.keyring, endpoint) };
    });
  }

  @Handle(listWebhookEvents)
  async eventNames(_: In<typeof listWebhookEvents>) {
    return { eventList: [...emittedEventNames] };
  }
}

const secretOf = (merchantId: number, endpointId: number) => `endpoints.sealed_secret ${merchantId} ${endpointId}`;

export const openSecret = (keyring: Keyring, { sealedSecret, merchantId, endpointId }: EndpointRow) =>
  keyring.open(sealedSecret, secretOf(merchantId, endpointId));

export function endpointView(endpoint: EndpointRow): WebhookEndpoint {
  return {
    id: endpoint.endpointId,
    merchantId: endpoint.merchantId,
    type: 0,
    webhookUrl: endpoint.url,
    webhookEvents: endpoint.events,
    productIds: endpoint.productIds,
    status: endpoint.state === 'enabled' ? endpointStatus.active : endpointStatus.disabled,
    createTime: endpoint.createTime,
    gmtModify: endpoint.modifyTime,
  };
}
