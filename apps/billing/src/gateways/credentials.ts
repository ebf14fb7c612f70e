import { Inject, Injectable } from '@nestjs/common';
import type * as contract from '@recur/contracts';
import { CONFIG, Keyring } from '@recur/platform';
import type { Config } from '../config.js';
import type { GatewayAccount } from './adapters/adapter.js';
import { type Gateway, kindOf } from './domain/gateway.js';
import { gatewayView } from './views.js';

/** The columns that are encrypted. */
export type Sealed = 'sealed_bank' | 'sealed_key' | 'sealed_secret' | 'sealed_webhook_secret';

/** Gateways as their own merchant sees them, and the encryption of their secrets. */
@Injectable()
export class GatewayCredentials {
  constructor(
    private readonly keyring: Keyring,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Encrypts a secret for its column and row; null for none. */
  seal(secret: string | undefined, column: Sealed, gateway: Pick<Gateway, 'merchantId' | 'gatewayId'>): string | null {
    return secret ? this.keyring.seal(secret, sealPlace(column, gateway)) : null;
  }

  /** The secret in clear; '' for none. */
  open(sealed: string | null, column: Sealed, gateway: Pick<Gateway, 'merchantId' | 'gatewayId'>): string {
    return sealed === null ? '' : this.keyring.open(sealed, sealPlace(column, gateway));
  }

  /** The decrypted bank account; null for none. */
  bank(gateway: Gateway): Partial<contract.GatewayBank> | null {
    const bank = this.open(gateway.sealedBank, 'sealed_bank', gateway);
    return bank ? JSON.parse(bank) : null;
  }

  /** Includes the bank account in clear: only for answers to the merchant. */
  view(gateway: Gateway): contract.Gateway {
    return {
      ...gatewayView(gateway, this.bank(gateway)),
      webhookEndpointUrl: kindOf(gateway.gatewayName)?.sendsWebhooks ? this.webhookUrl(gateway) : '',
    };
  }

  /**
   * The key by which the gateway's own card fields open in a page; '' where it has none. A key that does not begin as a
   * publishable one is withheld, since it may be the secret one in the wrong field.
   */
  publicKey(gateway: Gateway): string {
    const prefix = kindOf(gateway.gatewayName)?.fieldsKeyPrefix ?? '';
    const key = prefix === '' ? '' : this.open(gateway.sealedKey, 'sealed_key', gateway);
    return key.startsWith(prefix) ? key : '';
  }

  /** The merchant's account at the gateway, for its adapter: keep it in memory only. */
  account(gateway: Gateway): GatewayAccount {
    const { merchantId, gatewayId } = gateway;
    return {
      merchantId,
      gatewayId,
      key: this.open(gateway.sealedKey, 'sealed_key', gateway),
      secret: this.open(gateway.sealedSecret, 'sealed_secret', gateway),
      webhookSecret: this.open(gateway.sealedWebhookSecret, 'sealed_webhook_secret', gateway),
    };
  }

  /** Where the gateway sends its webhooks. */
  webhookUrl({ gatewayId }: Pick<Gateway, 'gatewayId'>): string {
    return `${this.config.BASE_URL.replace(/\/+$/, '')}/gateway/${gatewayId}/webhook`;
  }
}

/** Additional authenticated data of an encrypted column. */
const sealPlace = (column: Sealed, { merchantId, gatewayId }: Pick<Gateway, 'merchantId' | 'gatewayId'>) =>
  `gateways.${column} ${merchantId} ${gatewayId}`;
