import { z } from 'zod';
import { text } from '../../field.js';
import * as input from '../../input.js';
import { internal, operation } from '../../operation.js';
import { moneyPath } from '../gateways.js';

/** The message of every callback that is refused: it does not tell whether there is such a gateway. */
export const wrongSignature = 'The signature of the callback is missing or wrong';

/**
 * A callback of a payment gateway with its exact bytes; asked by the gateway app, which serves /gateway/<id>/webhook.
 * Rejects `credential_invalid` for a wrong signature, and for a gateway that there is none of or that sends no callbacks.
 * Nothing is parsed before the signature is verified.
 */
export const gatewayCallback = internal({
  service: 'billing',
  name: 'platform.gateway_callback',
  input: z.object({
    gatewayId: z.int().min(1),
    headers: z.record(z.string(), z.string()).describe('By their names in lower case'),
    base64: z.string().describe('The body'),
  }),
  output: z.object({}),
});

/**
 * The question of a sandbox charge that needs action, and the user's answer if there is one; asked by the gateway app, which
 * shows the page. Rejects `gateway_not_found` or `payment_not_found`.
 */
export const sandboxQuestion = internal({
  service: 'billing',
  name: 'platform.sandbox_question',
  input: z.object({
    gatewayId: z.int().min(1),
    reference: z.string().max(100),
    answer: z.enum(['approve', 'decline']).optional(),
  }),
  output: z.object({
    state: z.enum(['open', 'approved', 'declined']),
    amount: z.int().describe('Minor units'),
    currency: z.string(),
  }),
});

export const setupGatewayWebhook = operation({
  service: 'billing',
  name: 'gateway.setup_webhook',
  methods: ['POST'],
  path: '/merchant/gateway/setup_webhook',
  summary: 'The URL to which the gateway sends its webhooks; stores the secret that signs them, if one is sent',
  effect: 'write',
  permission: 'configuration.write',
  also: [{ ...moneyPath, by: ['webhookSecret'] }],
  input: z.object({
    gatewayId: input.integer,
    webhookSecret: input.line.optional().describe('Stored encrypted; answers show it masked'),
  }),
  output: z.object({ gatewayWebhookUrl: text }),
  errors: ['gateway_not_found', 'gateway_without_webhook'],
  secretInput: true,
});
