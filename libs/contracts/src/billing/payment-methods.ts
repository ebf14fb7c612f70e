import { z } from 'zod';
import { anyObject, Empty, flag, type Shape, text } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';

const paymentMethod = z.object({
  id: text,
  type: text,
  isDefault: flag.describe("The user's first payment method at the gateway is the default"),
  data: anyObject.describe('What the gateway shows of it, such as brand and last4'),
});
export interface PaymentMethod extends z.output<typeof paymentMethod> {}
export const PaymentMethod: Shape<PaymentMethod> = paymentMethod.meta({ id: 'PaymentMethod' });

const which = { gatewayId: input.integer, userId: input.integer, paymentMethodId: input.filledKey };

export const newPaymentMethod = operation({
  service: 'billing',
  name: 'payment.method_new',
  methods: ['POST'],
  path: '/merchant/payment/method/new',
  otherPaths: ['/merchant/payment/method_new'],
  summary: "Save a user's payment method at a gateway; where the user must act first, url is the page to open",
  effect: 'write',
  permission: 'transaction.write',
  input: z.object({
    gatewayId: input.integer,
    userId: input.integer,
    type: input.externalId.default(''),
    data: input.anyObject
      .default({})
      .describe('stripe: { paymentMethodId }, or none for a page of Stripe; sandbox: { scenario }'),
  }),
  output: z.object({ method: PaymentMethod.nullable(), url: text }),
  errors: [
    'gateway_not_found',
    'gateway_archived',
    'gateway_without_methods',
    'user_not_found',
    'too_many_payment_methods',
  ],
});

export const getPaymentMethod = operation({
  service: 'billing',
  name: 'payment.method_get',
  methods: ['GET', 'POST'],
  path: '/merchant/payment/method/get',
  otherPaths: ['/merchant/payment/method_get'],
  summary: 'A saved payment method of a user',
  effect: 'read',
  permission: 'transaction.read',
  input: z.object({ ...which, gatewayId: input.q.int(), userId: input.q.int() }),
  output: z.object({ method: PaymentMethod }),
  errors: ['payment_method_not_found'],
});

export const deletePaymentMethod = operation({
  service: 'billing',
  name: 'payment.method_delete',
  methods: ['POST'],
  path: '/merchant/payment/method/delete',
  otherPaths: ['/merchant/payment/method_delete'],
  summary: 'Delete a saved payment method, here and at the gateway; the newest one left becomes the default',
  effect: 'write',
  permission: 'transaction.write',
  input: z.object(which),
  output: Empty,
  errors: ['payment_method_not_found', 'gateway_not_found'],
});

export const listPaymentMethods = operation({
  service: 'billing',
  name: 'payment.method_list',
  methods: ['GET', 'POST'],
  path: '/merchant/payment/method_list',
  summary: "A user's saved payment methods at a gateway, newest first; the user of the payment where paymentId is sent",
  effect: 'read',
  permission: 'transaction.read',
  input: z.object({
    gatewayId: input.q.int(),
    userId: input.q.int().default(0),
    paymentId: input.externalId.default('').describe('No effect where userId is sent'),
  }),
  output: z.object({ methodList: z.array(PaymentMethod) }),
  errors: [],
});
