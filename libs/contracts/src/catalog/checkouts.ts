import { z } from 'zod';
import { anyObject, Empty, flag, integer, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';

const merchantCheckout = z.object({
  id: integer,
  merchantId: integer,
  createTime: time,
  updateTime: time,
  name: text,
  description: text,
  isDefault: flag,
  data: anyObject,
  stagingData: anyObject,
});
export interface MerchantCheckout extends z.output<typeof merchantCheckout> {}
export const MerchantCheckout: Shape<MerchantCheckout> = merchantCheckout.meta({
  id: 'MerchantCheckout',
});

/** Size limit of a template: the list answers all templates of a merchant at once. */
const templateBytes = 16_384;

const sizeRule = `must be an object of valid Unicode text without NUL, nested at most ${input.limits.objectDepth} deep, of at most ${templateBytes} bytes as JSON`;
const logoRule = 'must be blank or a picture as a data:image URL, since the hosted pages ask no other host';

/** The look of a checkout, in the vocabulary of the pages that show it. A logo that they cannot show is refused. */
const look = input
  .rule(
    input.rule(
      input.anyObject,
      sizeRule,
      value => new TextEncoder().encode(JSON.stringify(value)).length <= templateBytes,
    ),
    logoRule,
    ({ logo }) => typeof logo !== 'string' || logo.trim() === '' || logo.startsWith('data:image/'),
    ['logo'],
  )
  .meta({ 'x-rule': `${sizeRule}; its logo ${logoRule}` });

const answer = z.object({ merchantCheckout: MerchantCheckout });

export const newCheckout = operation({
  service: 'catalog',
  name: 'checkout.new_checkout',
  methods: ['POST'],
  path: '/merchant/checkout/new_checkout',
  summary: 'Create a checkout template: data is shown to customers, stagingData holds unpublished changes',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({
    name: input.line.default(''),
    description: input.prose.default(''),
    data: look.default({}),
    stagingData: look.default({}),
  }),
  output: answer,
  errors: ['too_many_checkouts'],
});

export const editCheckout = operation({
  service: 'catalog',
  name: 'checkout.edit_checkout',
  methods: ['POST'],
  path: '/merchant/checkout/edit_checkout',
  summary: 'Update the fields sent; a change to data is visible to customers at once, stagingData once published',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({
    checkoutId: input.integer,
    name: input.line.optional(),
    description: input.prose.optional(),
    data: look.optional(),
    stagingData: look.optional(),
  }),
  output: answer,
  errors: ['checkout_not_found', 'checkout_archived'],
});

export const publishCheckout = operation({
  service: 'catalog',
  name: 'checkout.publish_checkout',
  methods: ['POST'],
  path: '/merchant/checkout/publish_checkout',
  summary: 'Publish the staged changes: stagingData becomes data and is cleared; does nothing if it is empty',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({ checkoutId: input.integer }),
  output: answer,
  errors: ['checkout_not_found', 'checkout_archived'],
});

export const setDefaultCheckout = operation({
  service: 'catalog',
  name: 'checkout.set_default',
  methods: ['POST'],
  path: '/merchant/checkout/set_default',
  summary: "Make a checkout template the merchant's default, replacing the previous one",
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({ checkoutId: input.integer }),
  output: answer,
  errors: ['checkout_not_found', 'checkout_archived'],
});

export const archiveCheckout = operation({
  service: 'catalog',
  name: 'checkout.archive',
  methods: ['POST'],
  path: '/merchant/checkout/archive',
  summary: 'Archive a checkout template permanently: it is no longer listed and cannot be the default',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({ checkoutId: input.integer }),
  output: Empty,
  errors: ['checkout_not_found'],
});

export const checkoutDetail = operation({
  service: 'catalog',
  name: 'checkout.detail',
  methods: ['GET', 'POST'],
  path: '/merchant/checkout/detail',
  summary: 'A checkout template, including archived ones',
  effect: 'read',
  permission: 'configuration.read',
  input: z.object({ checkoutId: input.q.int() }),
  output: answer,
  errors: ['checkout_not_found'],
});

export const listCheckouts = operation({
  service: 'catalog',
  name: 'checkout.list',
  methods: ['GET', 'POST'],
  path: '/merchant/checkout/list',
  summary: 'Checkout templates that are not archived; SearchKey matches id, name and description',
  effect: 'read',
  permission: 'configuration.read',
  input: z.object({ SearchKey: input.line.optional() }),
  output: z.object({ merchantCheckouts: z.array(MerchantCheckout) }),
  errors: [],
});

export const checkoutLink = operation({
  service: 'catalog',
  name: 'checkout.get_link',
  methods: ['GET', 'POST'],
  path: '/merchant/checkout/get_link',
  summary: 'The checkout link of an active plan, using this template',
  effect: 'read',
  permission: 'configuration.read',
  input: z.object({ checkoutId: input.q.int(), planId: input.q.int() }),
  output: z.object({ link: z.string() }),
  errors: ['checkout_not_found', 'checkout_archived', 'plan_not_found', 'plan_not_active'],
});
