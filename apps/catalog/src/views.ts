import * as contract from '@recur/contracts';
import type { Checkout } from './domain/checkout.js';
import type { PlanRow, ProductRow } from './tables.js';

const emptyProduct = contract.emptyOf(contract.Product);
const emptyPlan = contract.emptyOf(contract.Plan);

export function productView(product: ProductRow): contract.Product {
  return {
    ...emptyProduct,
    id: product.id,
    merchantId: product.merchantId,
    createTime: product.createTime,
    productName: product.productName,
    description: product.description,
    homeUrl: product.homeUrl,
    imageUrl: product.imageUrl,
    metaData: JSON.stringify(product.metadata, inOrder),
    isDeleted: product.deletedTime,
    status: contract.productStatus[product.status],
    usVATConfig: product.usVatConfig,
  };
}

/** The database keeps the members of a document in an order of its own: the text of one is the same before and after. */
const inOrder = (_: string, value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;

export function planView(plan: PlanRow): contract.Plan {
  return {
    ...emptyPlan,
    id: plan.id,
    merchantId: plan.merchantId,
    productId: plan.productId,
    createTime: plan.createTime,
    autoUpgradePlanId: plan.autoUpgradePlanId,
    checkoutTemplateId: plan.checkoutTemplateId,
    intervalUnit: plan.intervalUnit,
    intervalCount: plan.intervalCount,
    trialDurationTime: plan.trialDurationSeconds,
    amount: Number(plan.amount),
    compareAtAmount: Number(plan.compareAtAmount),
    trialAmount: Number(plan.trialAmount),
    cancelAtTrialEnd: yesNo(plan.cancelAtTrialEnd),
    disableAutoCharge: yesNo(plan.disableAutoCharge),
    publishStatus: contract.publishStatus[plan.publishStatus],
    status: contract.planStatus[plan.status],
    type: contract.planType[plan.type],
    currency: plan.currency,
    description: plan.description,
    planName: plan.planName,
    internalName: plan.internalName,
    externalPlanId: plan.externalPlanId,
    checkoutUrl: plan.checkoutUrl,
    homeUrl: plan.homeUrl,
    imageUrl: plan.imageUrl,
    gasPayer: plan.gasPayer,
    trialDemand: plan.trialDemand,
    bindingAddonIds: plan.addonIds.join(','),
    bindingOnetimeAddonIds: plan.onetimeAddonIds.join(','),
    metadata: plan.metadata,
    metricLimits: plan.metricLimits,
    metricMeteredCharge: plan.metricMeteredCharge,
    metricRecurringCharge: plan.metricRecurringCharge,
    multiCurrencies: plan.multiCurrencies,
    multiTrials: plan.multiTrials,
    autoChargeConfig: plan.autoChargeConfig,
    usVATConfig: plan.usVatConfig,
  };
}

export const checkoutView = (checkout: Checkout): contract.MerchantCheckout => ({
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

const yesNo = (flag: boolean) => (flag ? contract.noYes.yes : contract.noYes.no);

/** The name that a code has in its table: the way back from the wire. The contract has checked the code. */
export function named<T extends contract.CodeTable>(table: T, code: number): keyof T & string {
  const name = Object.keys(table).find(candidate => table[candidate] === code);
  if (name === undefined) throw new Error(`${code} is none of ${Object.values(table).join(', ')}`);
  return name;
}

/** The names of those codes that are in the table; undefined where none were given. */
export const namesOf = (table: contract.CodeTable, codes: readonly number[] | undefined): string[] | undefined =>
  codes && Object.keys(table).filter(name => codes.includes(table[name] as number));

type UsVatInput = Partial<contract.UsVatConfig> & Omit<contract.UsVatConfig, 'fromAddress' | 'toAddress'>;

/** A tax configuration as it is answered, and so as it is kept. */
export function usVatConfigOf(input: UsVatInput | undefined): contract.UsVatConfig | null {
  return input ? { ...input, fromAddress: input.fromAddress ?? null, toAddress: input.toAddress ?? null } : null;
}
