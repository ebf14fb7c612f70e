import { Controller } from '@nestjs/common';
import {
  archiveGateway,
  gatewayType,
  type In,
  listGateways,
  restoreGateway,
  setDefaultGateway,
  setupWireTransfer,
  sortGateways,
} from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Reader } from '@recur/platform';
import { GatewayCredentials } from './credentials.js';
import { type Gateway, hasDefault, WIRE_TRANSFER } from './domain/gateway.js';
import { allGateways } from './gateway-index.js';
import { gateways } from './tables.js';
import { gatewayAggregate } from './views.js';

@Controller()
export class Gateways {
  constructor(
    private readonly db: Db,
    private readonly answers: GatewayCredentials,
  ) {}

  @Handle(setupWireTransfer)
  setup(input: In<typeof setupWireTransfer>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const [all, gatewayId] = await Promise.all([allGateways(tx), tx.nextId(gateways)]);
      const bank = input.bank && JSON.stringify(input.bank);
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
        isDefault: !hasDefault(all),
        archived: false,
        sealedBank: this.answers.seal(bank, 'sealed_bank', { merchantId: tx.merchantId, gatewayId }),
        createTime: tx.now,
        version: 0,
        settings: null,
        sealedKey: null,
        sealedSecret: null,
        sealedWebhookSecret: null,
      };
      tx.onConflict('gateways_name', exists);
      tx.onConflict('gateways_one_default', 'again');
      tx.step(gatewayAggregate, gateway, 'gateway.created', { log: 'New' });
      return { gateway: this.answers.view(gateway) };
    });
  }

  @Handle(listGateways)
  list({ archive }: In<typeof listGateways>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const rows = await sorted(reader, archive);
      return { gateways: rows.map(row => this.answers.view(row)) };
    });
  }

  /** The gateways that users can pay by, each with the key of its own card fields. */
  offered(caller: Caller) {
    return this.db.read(caller, async reader => {
      const rows = await sorted(reader, false);
      return rows.map(row => ({ ...this.answers.view(row), publicKey: this.answers.publicKey(row) }));
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
      if (chosen.isDefault) return { gateway: this.answers.view(chosen) };
      tx.onConflict('gateways_one_default', 'again');
      for (const gateway of all.filter(({ isDefault }) => isDefault)) {
        const cleared = { ...gateway, isDefault: false };
        // the unique index is checked per row: clear the old default before setting the new one
        await tx.saveNow(gateways, cleared);
        tx.step(gatewayAggregate, cleared, 'gateway.updated');
      }
      const changed = { ...chosen, isDefault: true };
      tx.step(gatewayAggregate, changed, 'gateway.updated', { log: 'SetDefault' });
      return { gateway: this.answers.view(changed) };
    });
  }

  @Handle(sortGateways)
  sort({ gatewaySorts }: In<typeof sortGateways>, caller: Caller) {
    return this.db.write(caller, async tx => {
      // in id order, as set_default locks them
      for (const { gatewayId, gatewayName, sort, path } of withPaths(gatewaySorts)) {
        const missing = new Rejected('gateway_not_found', undefined, [{ path, message: 'names no gateway' }]);
        const gateway = await tx.lockIfAny(gatewayAggregate, gatewayId);
        if (!gateway) throw missing;
        if (gatewayName !== '' && gatewayName !== gateway.gatewayName) {
          throw invalid(path.replace('gatewayId', 'gatewayName'), `is not the name of gateway ${gatewayId}`);
        }
        if (sort !== gateway.sort) tx.step(gatewayAggregate, { ...gateway, sort }, 'gateway.updated');
      }
      tx.log('Gateway', 'EditSort');
      // reads do not show yet which places this transaction writes
      const places = new Map(gatewaySorts.map(({ gatewayId, sort }) => [gatewayId, sort]));
      const all = (await allGateways(tx)).map(row => ({ ...row, sort: places.get(row.gatewayId) ?? row.sort }));
      const listed = all.filter(({ archived }) => !archived);
      const ordered = listed.sort((a, b) => a.sort - b.sort || a.gatewayId - b.gatewayId);
      return { gateways: ordered.map(row => this.answers.view(row)) };
    });
  }

  @Handle(archiveGateway)
  archive({ gatewayId }: In<typeof archiveGateway>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const gateway = await tx.lock(gatewayAggregate, gatewayId, 'gateway_not_found');
      if (gateway.archived) return { gateway: this.answers.view(gateway) };
      // no other becomes the default by itself: which one collects the money is for the merchant to say
      const archived = { ...gateway, archived: true, isDefault: false };
      tx.step(gatewayAggregate, archived, 'gateway.updated', { log: 'Archive' });
      return { gateway: this.answers.view(archived) };
    });
  }

  @Handle(restoreGateway)
  restore({ gatewayId }: In<typeof restoreGateway>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const gateway = await tx.lock(gatewayAggregate, gatewayId, 'gateway_not_found');
      if (!gateway.archived) return { gateway: this.answers.view(gateway) };
      tx.onConflict('gateways_one_default', 'again');
      const restored = { ...gateway, archived: false, isDefault: !hasDefault(await allGateways(tx)) };
      tx.step(gatewayAggregate, restored, 'gateway.updated', { log: 'Restore' });
      return { gateway: this.answers.view(restored) };
    });
  }
}

const sorted = (reader: Reader, archived: boolean) => reader.all(gateways, { archived }, 'order by sort, gateway_id');

/** Places of gateways by id, each with its path in the input. */
const withPaths = (sorts: In<typeof sortGateways>['gatewaySorts']) =>
  sorts
    .map((entry, at) => ({ ...entry, path: `/gatewaySorts/${at}/gatewayId` }))
    .sort((a, b) => a.gatewayId - b.gatewayId);
