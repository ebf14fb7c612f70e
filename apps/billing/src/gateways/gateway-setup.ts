import { Controller, Inject } from '@nestjs/common';
import {
  editGateway,
  editWireTransfer,
  type In,
  listGatewaySetups,
  setupGateway,
  setupGatewayWebhook,
} from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, CONFIG, Db, Handle, type Tx } from '@recur/platform';
import type { Config } from '../config.js';
import { GatewayCredentials } from './credentials.js';
import {
  blankSettings,
  type Gateway,
  type GatewayKind,
  hasDefault,
  kindOf,
  setupKind,
  setupKinds,
  WIRE_TRANSFER,
  wireTransfer,
} from './domain/gateway.js';
import { addRoute, allGateways } from './gateway-index.js';
import { gateways } from './tables.js';
import { gatewayAggregate, kindView, MASK } from './views.js';

type EditedGateway = Omit<In<typeof editGateway>, 'gatewayId' | 'gatewayLogo'>;

/** Setting up gateways that charge by themselves, and changing the settings of any. */
@Controller()
export class GatewaySetup {
  private readonly isProduction: boolean;

  constructor(
    private readonly db: Db,
    private readonly answers: GatewayCredentials,
    @Inject(CONFIG) config: Config,
  ) {
    this.isProduction = config.RECUR_ENV === 'production';
  }

  @Handle(setupGateway)
  setup({ gatewayName, gatewayIcons, ...settings }: In<typeof setupGateway>, caller: Caller) {
    const kind = setupKind(gatewayName, this.isProduction);
    const { gatewaySecret } = settings;
    if (kind.secretName !== '' && (!gatewaySecret || gatewaySecret === MASK)) {
      throw invalid('/gatewaySecret', `must be the ${kind.secretName.toLowerCase()} of ${kind.displayName}`);
    }
    return this.db.write(caller, async tx => {
      const [all, gatewayId] = await Promise.all([allGateways(tx), tx.nextId(gateways)]);
      const exists = () => new Rejected('gateway_exists');
      if (all.some(one => one.gatewayName === gatewayName)) throw exists();
      tx.onConflict('gateways_name', exists);
      tx.onConflict('gateways_one_default', 'again');
      const blank = newGateway(tx, kind, gatewayId);
      const gateway = this.changed({ ...blank, icons: gatewayIcons, isDefault: !hasDefault(all) }, kind, settings);
      if (kind.sendsWebhooks) await addRoute(tx, gatewayId);
      tx.step(gatewayAggregate, gateway, 'gateway.created', { log: 'New' });
      return { gateway: this.answers.view(gateway) };
    });
  }

  @Handle(editGateway)
  edit({ gatewayId, gatewayLogo, ...settings }: In<typeof editGateway>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const gateway = await tx.lock(gatewayAggregate, gatewayId, 'gateway_not_found');
      const edited = this.changed(gateway, kindOf(gateway.gatewayName), settings);
      return this.save(tx, gateway, { ...edited, icons: gatewayLogo ?? edited.icons });
    });
  }

  @Handle(editWireTransfer)
  editWire({ gatewayId, gatewayIcons, bank, ...input }: In<typeof editWireTransfer>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const gateway = await tx.lock(gatewayAggregate, gatewayId, 'gateway_not_found');
      if (gateway.gatewayName !== WIRE_TRANSFER) {
        const message = `Gateway ${gatewayId} is ${gateway.gatewayName}, not a wire-transfer gateway: use gateway/edit`;
        throw new Rejected('gateway_not_wire_transfer', message);
      }
      return this.save(tx, gateway, {
        ...gateway,
        currency: input.currency,
        minimumAmount: BigInt(input.minimumAmount),
        displayName: input.displayName || gateway.displayName,
        sort: input.sort ?? gateway.sort,
        icons: gatewayIcons ?? gateway.icons,
        sealedBank: this.resealed(gateway.sealedBank, 'sealed_bank', gateway, bank && JSON.stringify(bank)),
      });
    });
  }

  @Handle(listGatewaySetups)
  setupList(_: In<typeof listGatewaySetups>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const all = await allGateways(reader);
      const views = [...setupKinds(this.isProduction), wireTransfer].map(kind => {
        const gateway = all.find(({ gatewayName }) => gatewayName === kind.name);
        // without the bank account, which gateway/list shows
        return gateway ? this.answers.view({ ...gateway, sealedBank: null }) : kindView(kind);
      });
      return { gateways: views };
    });
  }

  @Handle(setupGatewayWebhook)
  setupWebhook({ gatewayId, webhookSecret }: In<typeof setupGatewayWebhook>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const gateway = await tx.lock(gatewayAggregate, gatewayId, 'gateway_not_found');
      if (!kindOf(gateway.gatewayName)?.sendsWebhooks) {
        const message = `Gateway ${gatewayId} is ${gateway.gatewayName}: it sends no webhooks`;
        throw new Rejected('gateway_without_webhook', message);
      }
      const { sealedWebhookSecret: current } = gateway;
      const sealedWebhookSecret = this.resealed(current, 'sealed_webhook_secret', gateway, webhookSecret);
      if (sealedWebhookSecret !== current) {
        const changed = { ...gateway, sealedWebhookSecret };
        tx.step(gatewayAggregate, changed, 'gateway.updated', { log: 'SetupWebhook' });
      }
      return { gatewayWebhookUrl: this.answers.webhookUrl(gateway) };
    });
  }

  private save(tx: Tx, before: Gateway, after: Gateway) {
    if (compared(before) !== compared(after)) tx.step(gatewayAggregate, after, 'gateway.updated', { log: 'Edit' });
    return { gateway: this.answers.view(after) };
  }

  /** The gateway with the settings that the input has. Throws Rejected `invalid_parameters`. */
  private changed(gateway: Gateway, kind: GatewayKind | undefined, input: EditedGateway): Gateway {
    const before = gateway.settings ?? blankSettings;
    assertFits(kind, input);
    return {
      ...gateway,
      displayName: input.displayName || gateway.displayName,
      sort: input.sort ?? gateway.sort,
      settings: {
        subGateway: input.subGateway ?? before.subGateway,
        paymentTypes: input.gatewayPaymentTypes ?? before.paymentTypes,
        companyIssuer: input.companyIssuer ?? before.companyIssuer,
        currencyExchange: input.currencyExchange ?? before.currencyExchange,
        metadata: input.metadata ?? before.metadata,
      },
      sealedKey: this.resealed(gateway.sealedKey, 'sealed_key', gateway, input.gatewayKey),
      sealedSecret: this.resealed(gateway.sealedSecret, 'sealed_secret', gateway, input.gatewaySecret),
    };
  }

  /** A secret after an edit: blank, masked or equal leaves it as it is. */
  private resealed(
    sealed: string | null,
    column: Parameters<GatewayCredentials['seal']>[1],
    gateway: Gateway,
    value: string | undefined,
  ): string | null {
    if (!value || value === MASK || this.answers.open(sealed, column, gateway) === value) return sealed;
    return this.answers.seal(value, column, gateway);
  }
}

const newGateway = ({ merchantId, now }: Tx, kind: GatewayKind, gatewayId: number): Gateway => ({
  merchantId,
  gatewayId,
  gatewayName: kind.name,
  gatewayType: kind.type,
  displayName: kind.displayName,
  currency: '',
  minimumAmount: 0n,
  sort: 10,
  icons: [],
  isDefault: false,
  archived: false,
  settings: blankSettings,
  sealedBank: null,
  sealedKey: null,
  sealedSecret: null,
  sealedWebhookSecret: null,
  createTime: now,
  version: 0,
});

/** Throws Rejected `invalid_parameters` for what a gateway of this kind does not have. */
function assertFits(
  kind: GatewayKind | undefined,
  { gatewayKey, gatewaySecret, gatewayPaymentTypes = [] }: EditedGateway,
) {
  if (!kind) return;
  if (gatewayKey && kind.keyName === '') throw invalid('/gatewayKey', `must be blank: ${kind.displayName} has none`);
  if (gatewaySecret && kind.secretName === '') {
    throw invalid('/gatewaySecret', `must be blank: ${kind.displayName} has none`);
  }
  const offered = kind.paymentTypes.map(({ paymentType }) => paymentType);
  gatewayPaymentTypes.forEach((paymentType, at) => {
    if (offered.includes(paymentType)) return;
    const message = offered.length > 0 ? `must be one of ${offered.join(', ')}` : 'must be left out: there are none';
    throw invalid(`/gatewayPaymentTypes/${at}`, message);
  });
}

/** A gateway's fields as comparable text; the order of keys in JSON columns is the database's. */
const compared = (gateway: Gateway): string =>
  JSON.stringify(sortedKeys({ ...gateway, settings: gateway.settings ?? blankSettings }));

function sortedKeys(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return value.map(sortedKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => [key, sortedKeys(each)]),
  );
}
