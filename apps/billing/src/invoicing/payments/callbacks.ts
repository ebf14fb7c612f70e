import { Controller, Inject } from '@nestjs/common';
import { gatewayCallback, type In, wrongSignature } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import {
  type Caller,
  CLOCK,
  type Clock,
  Db,
  fetchedWork,
  Handle,
  LOG,
  type Log,
  systemCaller,
  type Tx,
  type Work,
  type WorkItem,
} from '@recur/platform';
import { type Fact, UnreadableReport } from '../../gateways/adapters/adapter.js';
import { GatewayAdapters } from '../../gateways/adapters/registry.js';
import { SANDBOX_CALLBACK, Sandbox } from '../../gateways/adapters/sandbox.js';
import { GatewayAnswers } from '../../gateways/answers.js';
import { getGateway } from '../../gateways/lookup.js';
import { merchantOfGateway } from '../../gateways/routes.js';
import { GatewayFacts } from './facts.js';

/** A callback as it arrived. */
interface Callback {
  gatewayId: number;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
}

/** Callbacks of gateways: from the network, and those that the sandbox gateway delivers. */
@Controller()
export class GatewayCallbacks {
  readonly work: Work;

  constructor(
    private readonly db: Db,
    private readonly adapters: GatewayAdapters,
    private readonly answers: GatewayAnswers,
    private readonly facts: GatewayFacts,
    private readonly sandbox: Sandbox,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
  ) {
    this.work = fetchedWork(
      SANDBOX_CALLBACK,
      { time: 'merchant', batch: 1, logged: false },
      ([item]) => this.fromSandbox(item as WorkItem),
      async (tx, [item], delivery) => {
        if (!item || !delivery) return;
        await this.take(tx, delivery.gatewayId, delivery.facts, item.requestId);
        await this.sandbox.taken(tx, Number(item.key));
      },
    );
  }

  @Handle(gatewayCallback)
  async receive({ gatewayId, headers, base64 }: In<typeof gatewayCallback>, caller: Caller) {
    const merchantId = await merchantOfGateway(this.db, gatewayId);
    if (merchantId === undefined) throw new Rejected('credential_invalid', wrongSignature);
    const { requestId, deadline, traceparent } = caller;
    const system = systemCaller(merchantId, requestId, deadline, traceparent);
    const facts = await this.factsIn(system, { gatewayId, headers, body: Buffer.from(base64, 'base64') }).catch(error =>
      this.noneIfUnreadable(error, { gatewayId, merchantId, requestId }),
    );
    if (facts.length > 0) {
      await this.db.write(system, async tx => {
        await this.take(tx, gatewayId, facts, requestId);
        return {};
      });
    }
    return {};
  }

  /** No facts, and a warning: a gateway repeats what is not answered with success, for days, and may then give up. */
  private noneIfUnreadable(error: unknown, of: object): Fact[] {
    if (!(error instanceof UnreadableReport)) throw error;
    this.log.warn({ ...of, event: error.id, type: error.type, err: error.cause }, 'a callback could not be read');
    return [];
  }

  /** Throws Rejected `credential_invalid`, UnreadableReport, and what the adapter throws. */
  private async factsIn(caller: Caller, { gatewayId, headers, body }: Callback): Promise<Fact[]> {
    const gateway = await this.db.read(caller, reader => getGateway(reader, gatewayId));
    const adapter = this.adapters.of(gateway.gatewayName);
    if (!adapter) throw new Rejected('credential_invalid', wrongSignature);
    const facts = await adapter.callback(this.answers.account(gateway), headers, body, this.now());
    if (!facts) throw new Rejected('credential_invalid', wrongSignature);
    return facts;
  }

  private async fromSandbox({ merchantId, key, requestId }: WorkItem) {
    const planned = await this.sandbox.planned(merchantId, Number(key));
    if (!planned) return undefined;
    const { gatewayId, delivery } = planned;
    const caller = systemCaller(merchantId, requestId, Number.POSITIVE_INFINITY);
    return { gatewayId, facts: await this.factsIn(caller, { gatewayId, ...delivery }) };
  }

  private take(tx: Tx, gatewayId: number, facts: readonly Fact[], requestId: string): Promise<void> {
    return this.facts.apply(tx, gatewayId, facts, requestId, this.now());
  }

  private now(): number {
    return Math.floor(this.clock.wall() / 1000);
  }
}
