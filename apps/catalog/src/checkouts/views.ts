import type { MerchantCheckout } from '@recur/contracts';
import type { Checkout } from './domain/checkout.js';

export const checkoutView = (checkout: Checkout): MerchantCheckout => ({
  id: checkout.id,
  merchantId: checkout.merchantId,
  createTime: checkout.createTime,
  updateTime: checkout.modifyTime,
  name: checkout.name,
  description: checkout.description,
  isDefault: checkout.isDefault,
  data: checkout.data,
  stagingData: checkout.stagingData,
});
