import { Controller } from '@nestjs/common';
import { type In, sandboxQuestion } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, systemCaller } from '@recur/platform';
import { GatewayAdapters } from './adapters/adapters.js';
import { Sandbox } from './adapters/sandbox.js';
import { GatewayCredentials } from './credentials.js';
import { getGateway, merchantOfGateway } from './gateway-index.js';

/** The page of the sandbox gateway on which a user answers the question of a charge. */
@Controller()
export class SandboxQuestions {
  constructor(
    private readonly db: Db,
    private readonly adapters: GatewayAdapters,
    private readonly answers: GatewayCredentials,
    private readonly sandbox: Sandbox,
  ) {}

  @Handle(sandboxQuestion)
  async ask({ gatewayId, reference, answer }: In<typeof sandboxQuestion>, { requestId, deadline }: Caller) {
    const merchantId = await merchantOfGateway(this.db, gatewayId);
    if (merchantId === undefined) throw new Rejected('gateway_not_found');
    const caller = systemCaller(merchantId, requestId, deadline);
    const gateway = await this.db.read(caller, reader => getGateway(reader, gatewayId));
    if (this.adapters.of(gateway.gatewayName) !== this.sandbox) throw new Rejected('gateway_not_found');
    const account = this.answers.account(gateway);
    if (answer !== undefined) await this.sandbox.answer(account, reference, answer === 'approve');
    const charge = await this.sandbox.charged(account, reference);
    if (!charge) throw new Rejected('payment_not_found');
    const { state, amount, currency } = charge;
    const shown = state === 'needsAction' ? 'open' : state === 'succeeded' ? 'approved' : 'declined';
    return { state: shown, amount: Number(amount), currency } as const;
  }
}
