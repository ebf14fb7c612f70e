import { Controller } from '@nestjs/common';
import { gatewayType, type In, listGateways, setDefaultGateway, setupWireTransfer } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, Keyring } from '@recur/platform';
import { gatewayAggregate } from './aggregates.js';
import { bankContext, bankIn } from './bank.js';
import { type Gateway, WIRE_TRANSFER } from './domain/gateway.js';
import { allGateways } from './lookup.js';
import { gateways } from './tables.js';
import { gatewayView } from './views.js';

@Controller()
export class Gateways {
  constructor(
    private readonly db: Db,
    private readonly keyring: Keyring,
  ) {}

  @Handle(setupWireTransfer)
  setup(input: In<typeof setupWireTransfer>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const [all, gatewayId] = await Promise.all([allGateways(tx), tx.nextId(gateways)]);
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
        sealedBank: input.bank
          ? this.keyring.seal(JSON.stringify(input.bank), bankContext(tx.merchantId, gatewayId))
          : null,
        createTime: tx.now,
        version: 0,
      };
      tx.onConflict('gateways_name', exists);
      tx.onConflict('gateways_one_default', exists);
      tx.step(gatewayAggregate, gateway, 'gateway.created', { log: 'New' });
      return { gateway: this.withBank(gateway) };
    });
  }

  @Handle(listGateways)
  list({ archive }: In<typeof listGateways>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const rows = await reader.all(gateways, { archived: archive }, 'order by sort, gateway_id');
      return { gateways: rows.map(row => this.withBank(row)) };
    });
  }

  @Handle(setDefaultGateway)
  setDefault({ gatewayId }: In<typeof setDefaultGateway>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const ids = (await tx.all(gateways, {}, 'order by gateway_id')).map(row => row.gatewayId);
      // lock all of them, in id order: the default may change until they are locked
      const all = await Promise.all(ids.map(id => tx.lock(gatewayAggregate, id, 'gateway_not_found')));
      const chosen = all.find(gateway => gateway.gatewayId === gatewayId);
      if (!chosen) throw new Rejected('gateway_not_found');
      if (chosen.archived) {
        throw new Rejected('gateway_archived', `Gateway ${gatewayId} is archived: cannot make it the default`);
      }
      if (chosen.isDefault) return { gateway: this.withBank(chosen) };
      // the unique index is checked per row: clear the old default before setting the new one
      await tx.run('update gateways set is_default = false where merchant_id = $1 and is_default', [tx.merchantId]);
      for (const gateway of all.filter(({ isDefault }) => isDefault)) {
        tx.step(gatewayAggregate, { ...gateway, isDefault: false }, 'gateway.updated');
      }
      const changed = { ...chosen, isDefault: true };
      tx.step(gatewayAggregate, changed, 'gateway.updated', { log: 'SetDefault' });
      return { gateway: this.withBank(changed) };
    });
  }

  /** Includes the decrypted bank account: only for answers to the merchant. */
  private withBank(gateway: Gateway) {
    return gatewayView(gateway, bankIn(gateway, this.keyring));
  }
}
