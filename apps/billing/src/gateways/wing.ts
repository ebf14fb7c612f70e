import type { Wing } from '@recur/platform';
import { gatewayAdapters } from './adapters/adapters.js';
import { Sandbox } from './adapters/sandbox.js';
import { sandboxCallbacks, sandboxCharges } from './adapters/sandbox-ledger.js';
import { GatewayCredentials } from './credentials.js';
import { oldGatewayEvents } from './gateway-index.js';
import { GatewaySetup } from './gateway-setup.js';
import { Gateways } from './gateways.js';
import { PaymentMethods } from './payment-methods.js';
import { SandboxQuestions } from './sandbox-questions.js';
import { gateways, gatewayUsers, paymentMethods } from './tables.js';
import { gatewayAggregate } from './views.js';

/** The gateways of merchants, their adapters, and saved payment methods. */
export const gatewaysWing: Wing = {
  tables: [gateways, gatewayUsers, paymentMethods, sandboxCharges, sandboxCallbacks],
  aggregates: { gateway: gatewayAggregate },
  controllers: [Gateways, GatewaySetup, PaymentMethods, SandboxQuestions],
  providers: [GatewayCredentials, Sandbox, gatewayAdapters],
  removals: [oldGatewayEvents],
};
