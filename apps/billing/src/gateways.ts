import { Injectable } from '@nestjs/common';
import { type GatewayBank, gatewayType, type In, setupWireTransfer } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, Keyring } from '@recur/platform';
import { type Gateway, gateways } from './tables.js';
import { gatewayView } from './views.js';

export const WIRE_TRANSFER = 'wire_transfer';

@Injectable()
export class Gateways {
  constructor(
    private readonly db: Db,
    private readonly keyring: Keyring,
  ) {}

  @Handle(setupWireTransfer)
  setup(input: In<typeof setupWireTransfer>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const [all, gatewayId] = await Promise.all([tx.all(gateways, {}), tx.nextId(gateways)]);
      const exists = () => new Rejected('gateway_exists');
      if (all.some(({ gatewayName }) => gatewayName === WIRE_TRANSFER)) throw exists();
      const gateway: Gateway = {
        merchantId: tx.merchantId,
        gatewayId,
        gatewayName: WIRE_TRANSFER,
        gatewayType: gatewayType.wireTransfer,
        displayName: input.displayName || 'Wire Transfer',
        currency: input.currency,
        minimumAmount: BigInt(input.minimumAmount),
        sort: input.sort,
        icons: input.gatewayIcons,
        isDefault: all.length === 0,
        archived: false,
        sealedBank: input.bank ? this.keyring.seal(JSON.stringify(input.bank), bankOf(tx.merchantId, gatewayId)) : null,
        createTime: tx.now,
        version: 0,
      };
      tx.onConflict('gateways_name', exists);
      tx.onConflict('gateways_one_default', exists);
      tx.save(gateways, gateway);
      const bank = gateway.sealedBank ? (input.bank as Partial<GatewayBank>) : null;
      const view = gatewayView(gateway, bank);
      // other services learn of the gateway, not of the bank account behind it
      tx.emit('gateway.created', gateway, gatewayView(gateway));
      tx.log(`Gateway(${gatewayId}-${WIRE_TRANSFER})`, 'New');
      return { gateway: view };
    });
  }
}

/** What an encrypted bank account is bound to. */
const bankOf = (merchantId: number, gatewayId: number) => `gateways.sealed_bank ${merchantId} ${gatewayId}`;
