import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { In, newEndpoint } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { CONFIG, checkUrl, Keyring, type Tx } from '@recur/platform';
import { addressRules, type Config } from '../config.js';
import { missScheduled } from '../deliveries/miss.js';
import { endpointAggregate } from './aggregate.js';
import { newSecret, sealSecret } from './secrets.js';
import { type EndpointRow, endpoints } from './tables.js';

/** Creates and deletes endpoints: the merchant's own, and those of automation connections. */
@Injectable()
export class EndpointRegistry {
  constructor(
    private readonly keyring: Keyring,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Rejects a URL that this deployment does not call. */
  checkAddress(url: string): void {
    const problem = checkUrl(url, addressRules(this.config));
    if (problem !== undefined) throw invalid('/url', problem);
  }

  /** Creates an endpoint and logs it: the merchant's own, or one of an automation connection. */
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
    tx.step(endpointAggregate, endpoint, 'webhook.endpoint.created', { log: 'New' });
    return { endpointId, secret };
  }
}

/** Deletes an endpoint, which is locked: its scheduled deliveries become missed. `log` adds a log entry. */
export async function endEndpoint(tx: Tx, before: EndpointRow, log?: string): Promise<void> {
  await missScheduled(tx, before.endpointId);
  const after = { ...before, modifyTime: tx.now, deletedTime: tx.now };
  tx.step(endpointAggregate, after, 'webhook.endpoint.deleted', { log });
}
