import { z } from 'zod';
import { anyObject, flag, integer, type Shape, text, time } from '../field.js';

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
